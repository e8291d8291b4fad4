"""Chapter on computational cost and memory."""

from collections.abc import Iterator

from bertviewer.core.analysis.costs import part_costs
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.cost_texts import (
    FLOAT32_BYTES,
    cost_of,
    kv_cache_text,
    memory_sizes,
    sentence_text,
    size_text,
    why_no_formula,
)
from bertviewer.core.schema.costs import CACHE_BITS, FLOPS_PER_MAC
from bertviewer.core.schema.count_steps import steps_of
from bertviewer.core.util.numbers import percent_text
from bertviewer.core.util.text import joined
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    Letters,
    Paragraph,
    Row,
    Section,
    See,
    Sum,
    Table,
)
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject

_PARTS = "table:expensive"
_MAX_PARTS = 8
_CACHE_DTYPE = "float16"


def costs(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    sections = [Section("memory", "Memory", tuple(_memory(subject)))]
    if subject.architecture.costs is not None:
        forward = tuple(_forward(subject))
        sections.insert(0, Section("multiply-adds", "Multiply-adds and FLOPs", forward))
    return ChapterDraft(Section("costs", "Computational cost and memory", (), tuple(sections)))


def _forward(subject: Subject) -> Iterator[Block]:
    architecture, known = subject.architecture, subject.architecture.costs
    assert known is not None
    values = bindings(architecture, subject.run)
    steps = cost_of(architecture.root, architecture, values)
    if why := why_no_formula(architecture, ""):
        macs = None if subject.run is None else subject.run.modules[0].macs
        counted = "" if macs is None else f" In this run, {macs:,} multiply-adds were counted."
        yield Paragraph.of(f"No formula was found: {why}.{counted}")
    if not known.reason and (steps is not None or known.peak_elements(values) is not None):
        letters = joined([f"{s.name} is the number of {s.meaning}" for s in known.symbols])
        yield Paragraph.of(
            Letters(
                f"The figures are for {sentence_text(architecture, values)}, where {letters}. "
            ),
            "One multiply-add is two FLOPs; only matrix products are counted.",
        )
    if steps is not None:
        flops = FLOPS_PER_MAC * steps.result
        result = f"{steps.result:,} multiply-adds = {flops:,} FLOPs"
        yield Sum.of(architecture.root.class_name, steps, result)
        yield from _expensive_parts(subject, steps.result)


def _expensive_parts(subject: Subject, whole: int) -> Iterator[Block]:
    """Yield a table of the parts with the most multiply-adds, if there are several."""
    parts = part_costs(subject.architecture, "", bindings(subject.architecture, subject.run))
    if len(parts) < 2 or sum(part.macs for part in parts) != whole:
        return
    rows = [
        Row.of(Code(part.label or "(model)"), f"{part.macs:,}", percent_text(part.macs / whole, 2))
        for part in parts[:_MAX_PARTS]
    ]
    if others := sum(part.macs for part in parts[_MAX_PARTS:]):
        rows.append(Row.of("all others", f"{others:,}", percent_text(others / whole, 2)))
    yield Paragraph.of(
        See(_PARTS),
        " ranks the modules, identical layers together. A module’s own products are counted "
        "without those of the modules inside it.",
    )
    columns = (
        Column("Module", share=1), Column("Multiply-adds", "right"), Column("Share", "decimal")
    )  # fmt: skip
    yield Table(columns, tuple(rows), _PARTS, ("The modules with the most multiply-adds.",))


def _memory(subject: Subject) -> Iterator[Block]:
    architecture, known = subject.architecture, subject.architecture.costs
    values, count = bindings(architecture, subject.run), architecture.root.parameters
    sizes = (f"{size_text(size)} in {names}" for names, size in memory_sizes(count))
    yield Paragraph.of(
        "A number takes 4 bytes in float32, 2 in float16 and bfloat16, 1 in int8 and half a byte "
        f"in int4. In memory and in a file, {count:,} parameters take {'; '.join(sizes)}."
    )
    peak = None if known is None else known.peak_elements(values)
    if known is not None and peak is not None:
        moment = max(known.peak, key=lambda formula: evaluate(formula, values))
        steps = steps_of(moment, values)
        if steps is not None:
            yield Paragraph.of(
                "The peak of the activations is the largest number of elements that exist at the "
                "same time during inference, for the same input as above, with the scores of all "
                "heads in memory."
            )
            result = f"{peak:,} elements = {size_text(FLOAT32_BYTES * peak)} in float32"
            yield Sum.of("Peak activations", steps, result)
    yield from _cache(subject, values)
    yield from subject.answers("memory")


def _cache(subject: Subject, values: dict[str, int]) -> Iterator[Block]:
    """Yield the memory of the key/value cache, if the model has one."""
    cache = subject.architecture.kv_cache
    if cache is None:
        return
    steps = None if any(group.bits for group in cache.layers) else steps_of(cache.formula, values)
    if steps is None:
        text = kv_cache_text(subject.architecture, values)
        yield Paragraph.of(f"Memory of the key/value cache: {text}.")
        return
    size = size_text(steps.result * CACHE_BITS[_CACHE_DTYPE] // 8)
    yield Paragraph.of(
        "While a text is generated, the keys and values of earlier tokens are kept, so that they "
        "are not computed again."
    )
    yield Sum.of("Key/value cache", steps, f"{steps.result:,} elements = {size} in {_CACHE_DTYPE}")
