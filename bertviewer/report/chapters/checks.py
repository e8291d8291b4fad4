"""The check of a run: every formula recomputed, and what came out."""

from collections.abc import Iterator, Sequence

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, CheckStep
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
    Tick,
)
from bertviewer.report.check_summary import (
    check_verdict,
    other_attention_note,
    reasons,
    summarise,
)
from bertviewer.report.looks import ComparedElement
from bertviewer.report.numbers import deviation
from bertviewer.report.pictures import Drafted
from bertviewer.report.subject import Subject

MOST_CROSSES = 20
_KINDS, _LAYER, _CROSSES = "table:checks", "table:check-layer", "table:crosses"
_ELEMENTS = "table:check-elements"
_FIGURES = (Column("Max |Δ|", "decimal"), Column("Tolerance", "decimal"), Column("", "center"))


def checks(subject: Subject) -> Drafted | None:
    """Return the chapter; ``None`` where the run was not checked."""
    run = subject.run
    if run is None or run.check is None:
        return None
    blocks = tuple(_blocks(run, run.check, subject.looks.compared))
    return Drafted(Section("checks", "Checks", blocks))


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
    yield Paragraph.of(
        Tick(holds),
        " ",
        Strong(check_verdict(check).lstrip("✓✗ ")),
        look="plain" if holds else "warning",
    )
    if note := other_attention_note(check):
        yield Paragraph.of(note, look="note")
    if check.steps:
        yield _classes(run, check)
    layers = [m.path for m in run.modules if _is_layer(m.path, check)]
    if layers:
        yield Paragraph.of(
            _layer_words(layers, check), " ", See(_LAYER), " lists those of ", Code(layers[0]), "."
        )
        rows = tuple(Row(((step.step,), *_row(step))) for step in check.at(layers[0]))
        caption = (Code(layers[0]), ", step by step.")
        yield Table((Column("Step", share=1), *_FIGURES), rows, _LAYER, caption)
    if compared:
        yield Paragraph.of(
            See(_ELEMENTS),
            " shows the element with the largest difference for the classes of module that come "
            "closest to their tolerance: the model’s value, the recomputed value and the "
            "difference.",
        )
        yield _elements(compared)
    yield from _crosses(check)
    left = tuple(
        (f"Not checked ({count:,}): {reason}.",) for reason, count in reasons(check).items()
    )
    if left:
        yield Points(left)


def _extent(run: ActivationRun, check: Check) -> str:
    """Say of which modules the chapter tells: in the window a person checks some of them."""
    told = {step.path for step in check.steps} | {one.path for one in check.unchecked}
    asked = sum(module.path in told for module in run.modules)
    called = len(run.modules)
    if asked == called:
        return "The output of every module called in this run was"
    return count_text(
        asked,
        "The output of one of the {1} modules called in this run was",
        "The outputs of {0} of the {1} modules called in this run were",
        called,
    )


def _classes(run: ActivationRun, check: Check) -> Table:
    rows = tuple(
        Row.of(
            summary.class_name,
            f"{summary.steps:,}",
            str(summary.failed),
            _deviation(summary.worst.max_abs_error),
            _deviation(summary.worst.tolerance),
        )
        for summary in summarise(run, check)
    )
    columns = (
        Column("Class", share=1),
        Column("Steps", "right"),
        Column("Failures", "right"),
        Column("Worst |Δ|", "decimal"),
        Column("Tolerance", "decimal"),
    )
    caption = ("Checked steps by class of module, each with the step closest to its tolerance.",)
    return Table(columns, rows, _KINDS, caption)


def _elements(compared: Sequence[ComparedElement]) -> Table:
    rows = tuple(
        Row.of(
            (Code(one.step.path or "(model)"), Break(), one.step.step),
            (Code(shape_text(one.index)), Break(), Muted(one.place)),
            _digits(one.given),
            _digits(one.recomputed),
            _deviation(one.difference),
            _deviation(one.tolerance),
        )
        for one in compared
    )
    columns = (
        Column("Module and step", share=1.45),
        Column("Element", share=1),
        Column("Model", "decimal"),
        Column("Recomputed", "decimal"),
        Column("Difference", "decimal"),
        Column("Tolerance", "decimal"),
    )
    return Table(columns, rows, _ELEMENTS, ("The elements with the largest differences.",))


def _digits(value: float) -> str:
    """Return a number with more digits than single precision has."""
    return with_minus(f"{value:#.10g}")


def _layer_words(layers: list[str], check: Check) -> str:
    """Say why there are more steps than layers."""
    steps = sum(len(check.at(path)) for path in layers)
    return count_text(
        len(layers),
        "One layer was checked, in {1} steps.",
        "{0} layers were checked, in {1} steps: attention, sums and norms one by one.",
        steps,
    )


def _crosses(check: Check) -> Iterator[Block]:
    if not check.failed:
        return
    rows = tuple(
        Row(((Code(step.path or "(model)"),), (step.step,), *_row(step)))
        for step in check.failed[:MOST_CROSSES]
    )
    columns = (Column("Module", share=1), Column("Step", share=1), *_FIGURES)
    yield Table(columns, rows, _CROSSES, ("Steps outside their tolerance.",))
    more = len(check.failed) - MOST_CROSSES
    if more > 0:
        yield Paragraph.of(count_text(more, "And 1 more.", "And {0} more."))


def _row(step: CheckStep) -> tuple[tuple[str] | tuple[Tick], ...]:
    return (
        (_deviation(step.max_abs_error),),
        (_deviation(step.tolerance),),
        (Tick(step.ok),),
    )


def _is_layer(path: str, check: Check) -> bool:
    """Return whether a module is a layer whose steps were checked one by one."""
    return path.rpartition(".")[2].isdecimal() and len(check.at(path)) > 1


def _deviation(value: float | None) -> str:
    """Return a difference as the terminal has it, but with a true minus."""
    return with_minus(deviation(value))
