"""Chapter on the check of a run: every module recomputed and compared."""

from collections.abc import Iterator

from msgspec.structs import replace

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, check_summaries
from bertviewer.core.util.numbers import count_text, percent_text
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    Paragraph,
    Points,
    Row,
    Section,
    See,
    Strong,
    Table,
    Tick,
)
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject
from bertviewer.report.tables import difference_text

MAX_FAILURES = 40
_CLASSES, _FAILURES = "table:checks", "table:failures"


def checks(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` if the run was not checked."""
    run = subject.run
    if run is None or run.check is None:
        return None
    return ChapterDraft(Section("checks", "Checks", tuple(_blocks(run, run.check))))


def _blocks(run: ActivationRun, check: Check) -> Iterator[Block]:
    yield Paragraph.of(
        f"{_extent(run, check)} recomputed in float64 from the recorded inputs, with plain sums, "
        "products, exponentials and means, by a second instance of the same configuration, and "
        "compared with the recorded output. The tolerance of each comparison is 16 times the "
        "error that rounding causes when the same recomputation is done in the model’s own "
        "precision."
    )
    holds = bool(check.steps) and not check.failed
    verdict = Strong(check.verdict.lstrip("✓✗ "))
    yield Paragraph.of(Tick(holds), " ", verdict, look="plain" if holds else "warning")
    if check.steps:
        yield from _classes(run, check)
    yield from _failures(check)
    if note := replace(check, steps=check.failed).attention_note:
        yield Paragraph.of(note, look="note")
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


def _classes(run: ActivationRun, check: Check) -> Iterator[Block]:
    """Yield a table of the classes with an error, and name those without any."""
    summaries = check_summaries(check, run.class_names)
    inexact = [each for each in summaries if each.worst.max_abs_error != 0]
    columns = (
        Column("Class", share=1),
        Column("Comparisons", "right"),
        Column("Largest error", "decimal"),
        Column("Tolerance", "decimal"),
    )
    rows = tuple(
        Row.of(
            each.class_name,
            f"{each.steps:,}",
            difference_text(each.worst.max_abs_error),
            difference_text(each.worst.tolerance),
        )
        for each in inexact
    )
    largest = max((each.worst.relative_error for each in inexact), default=0.0)
    if rows:
        yield Paragraph.of(
            See(_CLASSES),
            " gives the errors by class of module. ",
            f"Relative to its tolerance, the largest is {percent_text(largest, 1)}."
            if largest <= 1
            else "",
        )
        caption = (
            "Checked outputs by class of module. Errors are absolute; each is that of the "
            "comparison that comes closest to its tolerance."
        )
        yield Table(columns, rows, _CLASSES, (caption,))
    exact = [each for each in summaries if each.worst.max_abs_error == 0]
    if exact and rows:
        count = sum(each.steps for each in exact)
        names = ", ".join(each.class_name for each in exact)
        yield Paragraph.of(
            count_text(
                count,
                "One more comparison shows no difference at all: {1}.",
                "{0} more comparisons show no difference at all: {1}.",
                names,
            )
        )


def _failures(check: Check) -> Iterator[Block]:
    if not check.failed:
        return
    rows = tuple(
        Row.of(
            Code(step.path or "(model)"),
            step.step,
            difference_text(step.max_abs_error),
            difference_text(step.tolerance),
        )
        for step in check.failed[:MAX_FAILURES]
    )
    columns = (
        Column("Module", share=1),
        Column("Comparison", share=1),
        Column("Error", "decimal"),
        Column("Tolerance", "decimal"),
    )
    yield Table(columns, rows, _FAILURES, ("Comparisons with an error above the tolerance.",))
    more = len(check.failed) - MAX_FAILURES
    if more > 0:
        yield Paragraph.of(count_text(more, "And 1 more.", "And {0} more."))
