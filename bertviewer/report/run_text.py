"""A run and its check as text for a terminal."""

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, check_summaries
from bertviewer.core.schema.statistics import statistic_value
from bertviewer.core.util.numbers import count_text, deviation_text
from bertviewer.report.summary import Table, aligned, notice_lines, number, provenance

RUN_FIGURES = ("mean", "std", "min", "max", "rms", "zero_fraction")


def run_text(run: ActivationRun) -> str:
    """Return a run's tokens and the statistics of every module as aligned plain text."""
    tokens: Table = [(str(t.id), t.text, str(t.segment)) for t in run.tokens]
    modules: Table = []
    for module in run.modules:
        statistics = module.statistics
        figures = (statistic_value(statistics, name) for name in RUN_FIGURES)
        modules.append(
            (
                module.path or module.class_name,
                shape_text(module.output_shape),
                *(number(value) for value in figures),
                module.skip_reason or str(statistics.nan_count + statistics.inf_count),
            )
        )
    header = ("Module", "Output Shape", *RUN_FIGURES, "NaN+Inf")
    parts = [
        provenance(run.source),
        *notice_lines(run.source),
        tokenizer_note(run),
        "",
        aligned(("Id", "Token", "Segment"), tokens, right=(0,)),
        "",
        aligned(header, modules, right=range(2, len(header))),
        "",
        f"Forward: {run.seconds_forward * 1000:.1f} ms",
    ]
    if run.check is not None:
        parts += ["", *_check_lines(run, run.check)]
    return "\n".join(parts)


def tokenizer_note(run: ActivationRun) -> str:
    """Return the number of tokens, and which tokenizer they come from if not the model's."""
    tokens = count_text(len(run.tokens), "1 token", "{0} tokens")
    return f"{tokens} from {found}" if (found := other_tokenizer(run)) else tokens


def other_tokenizer(run: ActivationRun) -> str:
    """Return which tokenizer the tokens come from, and why; "" if it is the model's own."""
    if run.tokenizer == "model":
        return ""
    if run.tokenizer == "bert":
        return "BERT’s tokenizer: the model comes with a vocab.txt but no tokenizer files"
    return (
        "a placeholder tokenizer: the configuration has no vocabulary, so token ids are hashes of "
        "the words"
    )


def _check_lines(run: ActivationRun, check: Check) -> list[str]:
    rows: Table = [
        (
            summary.class_name,
            str(summary.steps),
            str(summary.failed),
            deviation_text(summary.worst.max_abs_error),
            deviation_text(summary.worst.tolerance),
        )
        for summary in check_summaries(check, run.class_names)
    ]
    header = ("Class", "Steps", "Failures", "Worst |Δ|", "Tolerance")
    lines = [aligned(header, rows, right=range(1, 5))] if rows else []
    lines += ["", check.verdict]
    lines += [
        f"✗ {step.path or '(the model itself)'}: {step.step}: |Δ| "
        f"{deviation_text(step.max_abs_error)}, tolerance {deviation_text(step.tolerance)}"
        for step in check.failed
    ]
    lines += [
        f"Not checked ({count}): {reason}" for reason, count in check.unchecked_reasons.items()
    ]
    return lines
