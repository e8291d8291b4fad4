"""Chapter on the check of a run: every formula recomputed and compared."""

from collections.abc import Iterator, Sequence

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, CheckStep, check_summaries
from bertviewer.core.util.numbers import count_text, with_minus
from bertviewer.report.blocks import (
    Block,
    Break,
    Code,
    Column,
    Muted,
    Paragraph,
    Points,
    Row,
    Section,
    See,
    Strong,
    Table,
    Text,
    Tick,
)
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.run_details import ComparedElement
from bertviewer.report.subject import Subject
from bertviewer.report.tables import difference_text

MAX_FAILURES = 20
_CLASSES, _LAYER, _FAILURES = "table:checks", "table:check-layer", "table:crosses"
_ELEMENTS = "table:check-elements"
_RESULT = (Column("Max |Δ|", "decimal"), Column("Tolerance", "decimal"), Column("", "center"))


def checks(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` if the run was not checked."""
    run = subject.run
    if run is None or run.check is None:
        return None
    blocks = tuple(_blocks(run, run.check, subject.details.compared))
    return ChapterDraft(Section("checks", "Checks", blocks))


def _blocks(
    run: ActivationRun, check: Check, compared: Sequence[ComparedElement]
) -> Iterator[Block]:
    yield Paragraph.of(
        f"{_extent(run, check)} recomputed in float64 from the recorded inputs by a reference "
        "instance of the same configuration, by plain sums, products, exponentials and means, and "
        "compared with the recorded output. The tolerance is 16 times the effect of rounding alone "
        "on the same recomputation."
    )
    holds = bool(check.steps) and not check.failed
    verdict = Strong(check.verdict.lstrip("✓✗ "))
    yield Paragraph.of(Tick(holds), " ", verdict, look="plain" if holds else "warning")
    if check.attention_note:
        yield Paragraph.of(check.attention_note, look="note")
    if check.steps:
        yield _classes(run, check)
    yield from _layer(run, check)
    if compared:
        yield Paragraph.of(
            See(_ELEMENTS),
            " shows the element with the largest difference for the classes of module that come "
            "closest to their tolerance: the model’s value, the recomputed value and the "
            "difference.",
        )
        yield _elements(compared)
    yield from _failures(check)
    if check.unchecked:
        reasons = check.unchecked_reasons.items()
        yield Points(tuple((f"Not checked ({n:,}): {reason}.",) for reason, n in reasons))


def _extent(run: ActivationRun, check: Check) -> str:
    """Return which modules the chapter covers: all, or those that were verified one by one."""
    covered = {step.path for step in check.steps} | {each.path for each in check.unchecked}
    count, called = sum(module.path in covered for module in run.modules), len(run.modules)
    if count == called:
        return "The output of every module called in this run was"
    return count_text(
        count,
        "The output of one of the {1} modules called in this run was",
        "The outputs of {0} of the {1} modules called in this run were",
        called,
    )


def _classes(run: ActivationRun, check: Check) -> Table:
    columns = (
        Column("Class", share=1),
        Column("Steps", "right"),
        Column("Failures", "right"),
        Column("Worst |Δ|", "decimal"),
        Column("Tolerance", "decimal"),
    )
    rows = tuple(
        Row.of(
            summary.class_name,
            f"{summary.steps:,}",
            str(summary.failed),
            difference_text(summary.worst.max_abs_error),
            difference_text(summary.worst.tolerance),
        )
        for summary in check_summaries(check, run.class_names)
    )
    caption = ("Checked steps by class of module, each with the step closest to its tolerance.",)
    return Table(columns, rows, _CLASSES, caption)


def _layer(run: ActivationRun, check: Check) -> Iterator[Block]:
    """Yield the steps of the first layer that was checked step by step."""
    layers = [
        module.path
        for module in run.modules
        if module.path.rpartition(".")[2].isdecimal() and len(check.at(module.path)) > 1
    ]
    if not layers:
        return
    yield Paragraph.of(
        count_text(
            len(layers),
            "One layer was checked, in {1} steps.",
            "{0} layers were checked, in {1} steps: attention, sums and norms one by one.",
            sum(len(check.at(path)) for path in layers),
        ),
        " ",
        See(_LAYER),
        " lists those of ",
        Code(layers[0]),
        ".",
    )
    rows = tuple(Row(((step.step,), *_result(step))) for step in check.at(layers[0]))
    caption = (Code(layers[0]), ", step by step.")
    yield Table((Column("Step", share=1), *_RESULT), rows, _LAYER, caption)


def _elements(compared: Sequence[ComparedElement]) -> Table:
    columns = (
        Column("Module and step", share=1.45),
        Column("Element", share=1),
        Column("Model", "decimal"),
        Column("Recomputed", "decimal"),
        Column("Difference", "decimal"),
        Column("Tolerance", "decimal"),
    )
    rows = tuple(
        Row.of(
            (Code(each.step.path or "(model)"), Break(), each.step.step),
            (Code(shape_text(each.index)), Break(), Muted(each.place)),
            # More digits than single precision has.
            with_minus(f"{each.given:#.10g}"),
            with_minus(f"{each.recomputed:#.10g}"),
            difference_text(each.difference),
            difference_text(each.tolerance),
        )
        for each in compared
    )
    return Table(columns, rows, _ELEMENTS, ("The elements with the largest differences.",))


def _failures(check: Check) -> Iterator[Block]:
    if not check.failed:
        return
    rows = tuple(
        Row(((Code(step.path or "(model)"),), (step.step,), *_result(step)))
        for step in check.failed[:MAX_FAILURES]
    )
    columns = (Column("Module", share=1), Column("Step", share=1), *_RESULT)
    yield Table(columns, rows, _FAILURES, ("Steps outside their tolerance.",))
    more = len(check.failed) - MAX_FAILURES
    if more > 0:
        yield Paragraph.of(count_text(more, "And 1 more.", "And {0} more."))


def _result(step: CheckStep) -> tuple[Text, ...]:
    error, tolerance = difference_text(step.max_abs_error), difference_text(step.tolerance)
    return (error,), (tolerance,), (Tick(step.ok),)
