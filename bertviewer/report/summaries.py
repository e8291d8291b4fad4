"""An architecture and a run as text, CSV and Markdown."""

import csv as csv_module
import io
from collections.abc import Iterator, Sequence
from math import isfinite

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.check_step import Check
from bertviewer.core.activations.statistics import figure
from bertviewer.core.architecture.architecture import Architecture, bytes_by_dtype
from bertviewer.core.architecture.folding import TreeRow, fold
from bertviewer.core.architecture.source_info import SourceInfo
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.loading.rebuilding import note_of
from bertviewer.core.source.demo import MODEL_NAME
from bertviewer.core.source.tasks import find_task
from bertviewer.core.text.markdown import SPACE, markdown_cell, markdown_table
from bertviewer.core.text.numerals import count_text, with_minus
from bertviewer.core.text.plain_text import printable
from bertviewer.report.check_summary import reasons, summarise
from bertviewer.report.costs import why_no_formula

Table = list[tuple[str, ...]]

MODULE_HEADER = ("Module", "Class", "Parameters", "Share", "Shape")
TENSOR_HEADER = ("Name", "Shape", "Elements", "Dtype", "Trainable", "Tied to")
RUN_FIGURES = ("mean", "std", "min", "max", "rms", "zero_fraction")


def text(architecture: Architecture, depth: int | None, with_parameters: bool) -> str:
    """Return the folded module table and the totals as aligned plain text."""
    parts = [
        provenance(architecture.source),
        *filter(None, [note_of(architecture.config)]),
        "",
        aligned(MODULE_HEADER, _rows(architecture, depth)),
    ]
    if with_parameters:
        parts += ["", aligned(TENSOR_HEADER, _tensors(architecture))]
    parts += ["", *(f"{name}: {value}" for name, value in totals(architecture))]
    return "\n".join(parts)


def csv(architecture: Architecture, depth: int | None, with_parameters: bool) -> str:
    """Return every module, unfolded, or every named parameter, as CSV with a header line."""
    out = io.StringIO()
    writer = csv_module.writer(out, lineterminator="\n")
    if with_parameters:
        writer.writerow(("name", "shape", "numel", "dtype", "trainable", "tied_to"))
        for tensor in architecture.parameters:
            writer.writerow(
                (tensor.name, shape_text(tensor.shape), tensor.numel, tensor.dtype,
                 tensor.trainable, tensor.tied_to or "")
            )  # fmt: skip
    else:
        writer.writerow(
            ("path", "class", "depth", "parameters", "own_parameters", "trainable", "share")
        )
        for node in architecture.modules:
            if depth is None or node.depth <= depth:
                writer.writerow(
                    (node.path, node.class_name, node.depth, node.parameters,
                     node.own_parameters, node.trainable, node.share)
                )  # fmt: skip
    return out.getvalue().rstrip("\n")


def markdown(architecture: Architecture, depth: int | None, with_parameters: bool) -> str:
    """Return the same tables as ``text``, in Markdown."""
    parts = [
        f"# {markdown_cell(architecture.source.name)}",
        "",
        markdown_cell(provenance(architecture.source)),
        "",
        *markdown_table(MODULE_HEADER, _rows(architecture, depth, indent=SPACE * 2)),
        "",
        *markdown_table(("Total", ""), totals(architecture)),
    ]
    if with_parameters:
        parts += ["", *markdown_table(TENSOR_HEADER, _tensors(architecture))]
    return "\n".join(parts)


def run_text(run: ActivationRun) -> str:
    """Return a run's tokens and the statistics of every module as aligned plain text."""
    tokens: Table = [(str(t.id), t.text, str(t.segment)) for t in run.tokens]
    modules: Table = []
    for module in run.modules:
        statistics = module.statistics
        figures = (figure(statistics, name) for name in RUN_FIGURES)
        modules.append(
            (
                module.path or module.class_name,
                shape_text(module.output_shape),
                *(number(value) for value in figures),
                module.left_out or str(statistics.nan_count + statistics.inf_count),
            )
        )
    header = ("Module", "Output Shape", *RUN_FIGURES, "NaN+Inf")
    parts = [
        provenance(run.source),
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


def check_verdict(check: Check) -> str:
    """Return one line that says how the check came out."""
    crosses = len(check.crosses)
    if not check.steps:
        return "Nothing could be checked."
    if not crosses:
        within = "✓ The only step is within its tolerance."
        return count_text(len(check.steps), within, "✓ All {0} steps are within their tolerance.")
    return count_text(
        crosses,
        "✗ 1 of {1} steps is NOT within its tolerance.",
        "✗ {0} of {1} steps are NOT within their tolerance.",
        len(check.steps),
    )


def by_flow_note(check: Check) -> str:
    """Return one line that says what has no formula of its own, "" if all has."""
    count = check.by_flow
    if not count:
        return ""
    return count_text(
        count,
        "1 step of {1} is proven by the flow: what a clean instance of the model does, operation "
        "by operation.",
        "{0} steps of {1} are proven by the flow: what a clean instance of the model does, "
        "operation by operation.",
        len(check.steps),
    )


def other_attention_note(check: Check) -> str:
    """Return what steps named ``(eager)`` or ``(sdpa)`` are, "" if there are none."""
    ways = {"eager": "step by step, which shows its weights", "sdpa": "fused into one operation"}
    found = [way for way in ways if any(f"({way})" in step.step for step in check.steps)]
    return " ".join(
        f"({way}): the attention was run once more as transformers' “{way}”, {ways[way]}."
        for way in found
    )


def _check_lines(run: ActivationRun, check: Check) -> list[str]:
    rows: Table = [
        (
            summary.kind,
            str(summary.steps),
            str(summary.crosses),
            deviation(summary.worst.max_abs_error),
            deviation(summary.worst.tolerance),
        )
        for summary in summarise(run, check)
    ]
    header = ("Check", "Steps", "Crosses", "Worst |Δ|", "Tolerance")
    lines = [aligned(header, rows, right=range(1, 5))] if rows else []
    lines += ["", check_verdict(check), *filter(None, [by_flow_note(check)])]
    lines += [
        f"✗ {step.path or '(the model itself)'}: {step.step}: |Δ| {deviation(step.max_abs_error)}, "
        f"tolerance {deviation(step.tolerance)}{' (flow)' if step.proof == 'flow' else ''}"
        for step in check.crosses
    ]
    lines += [f"Not checked ({count}): {reason}" for reason, count in reasons(check).items()]
    return lines


def provenance(source: SourceInfo) -> str:
    """Return one line that says what the model is and whether its weights are trained ones."""
    name = printable(source.name)
    where = {
        "demo": f"Demo model ({MODEL_NAME})",
        "preset": f"Preset {name}",
        "folder": f"Folder {name}",
        "config": f"Configuration {name}",
        "weights": f"Weights {name}",
        "pickle": f"Pickle {name}",
        "hub": f"Hub model {name}",
        "runs": f"Saved runs {name}",
    }[source.kind]
    weights = {
        "none": "no weights",
        "pretrained": "pretrained weights",
        "random": "RANDOM weights: no figure comes from training",
    }[source.weights]
    line = f"{where} · {find_task(source.task).title} · {weights}"
    if source.random_tensors:
        one, many = (
            ", but 1 tensor is not in the checkpoint: RANDOM",
            ", but {0} tensors are not in the checkpoint: RANDOM",
        )
        line += count_text(len(source.random_tensors), one, many)
    return line


def tokenizer_note(run: ActivationRun) -> str:
    """Return one line that says whose tokens a run's are."""
    tokens = count_text(len(run.tokens), "1 token", "{0} tokens")
    if run.tokenizer == "model":
        return tokens
    if run.tokenizer == "bert":
        return (
            f"{tokens} by BERT's tokenizer: beside the model is a vocab.txt alone, and no file of "
            "its own tokenizer"
        )
    return (
        f"{tokens} by a stand-in tokenizer: the configuration has no vocabulary, so words are "
        "numbered by a hash"
    )


def totals(architecture: Architecture) -> Table:
    """Return the totals in torchinfo's words, formatted."""
    root = architecture.root
    sizes = bytes_by_dtype(root.parameters)
    return [
        ("Total params", f"{root.parameters:,}"),
        ("Trainable params", f"{root.trainable:,}"),
        ("Tensors", f"{architecture.tensor_count:,}"),
        ("Modules", f"{len(architecture.modules):,}"),
        *((f"Size as {dtype}", f"{size / 1e6:,.2f} MB") for dtype, size in sizes.items()),
        *_without_costs(architecture),
    ]


def _without_costs(architecture: Architecture) -> Table:
    """Say why nothing is known of the multiply-adds, where they were looked for."""
    reason = why_no_formula(architecture, "")
    return [("Mult-Adds", f"no formula found: {reason}")] if reason else []


def number(value: float | None) -> str:
    """Return a figure with five significant digits; a dash for none."""
    return "–" if value is None else f"{value:.5g}"


def exact(value: float | None) -> str:
    """Return a figure with five significant digits, zeros too, and a true minus; counts whole."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else with_minus(f"{value:#.5g}" if value else "0")


def cosine_text(value: float | None) -> str:
    """Return a cosine with four digits behind the point; a dash where it is not defined."""
    return "–" if value is None or not isfinite(value) else with_minus(f"{value:.4f}")


def deviation(value: float | None) -> str:
    """Return a difference with two significant digits; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.1e}" if value else "0"


def _rows(architecture: Architecture, depth: int | None, indent: str = "  ") -> Table:
    def walk(row: TreeRow, level: int) -> Iterator[tuple[str, ...]]:
        yield (
            indent * level + row.label,
            row.class_label,
            f"{row.parameters:,}",
            f"{row.share:.2%}",
            shape_text(row.shape),
        )
        if depth is None or level < depth:
            for child in row.children:
                yield from walk(child, level + 1)

    return list(walk(fold(architecture), 0))


def _tensors(architecture: Architecture) -> Table:
    return [
        (
            tensor.name,
            shape_text(tensor.shape),
            f"{tensor.numel:,}",
            tensor.dtype,
            "yes" if tensor.trainable else "no",
            tensor.tied_to or "",
        )
        for tensor in architecture.parameters
    ]


def aligned(header: tuple[str, ...], rows: Table, right: Sequence[int] = (2, 3)) -> str:
    """Return a table as text; the columns ``right`` hold numbers and stand to the right."""
    # Names and tokens come from strangers.
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, tuple("─" * width for width in widths), *rows]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
