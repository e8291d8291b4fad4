"""Chapter on computational cost and memory."""

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.cost_texts import (
    cost_of,
    kv_cache_text,
    memory_rows,
    peak_text,
    sentence_text,
    why_no_formula,
)
from bertviewer.core.schema.costs import FLOPS_PER_MAC
from bertviewer.core.schema.module_tree import TreeRow, fold
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

_MEMORY = "table:memory"


def costs(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    architecture = subject.architecture
    sections = [_memory(subject)]
    if architecture.costs is not None:
        sections.insert(0, _forward(subject))
    return ChapterDraft(Section("costs", "Computational cost and memory", (), tuple(sections)))


def _forward(subject: Subject) -> Section:
    architecture, run = subject.architecture, subject.run
    known = architecture.costs
    assert known is not None
    blocks: list[Block] = []
    if known.reason:
        blocks.append(Paragraph.of(f"No formula was found: {why_no_formula(architecture, '')}."))
    else:
        values = bindings(architecture, run)
        peak = peak_text(architecture, values)
        meanings = [f"{s.name} is the number of {s.meaning}" for s in known.symbols]
        letters = " and ".join(filter(None, (", ".join(meanings[:-1]), *meanings[-1:])))
        blocks.append(
            Paragraph.of(
                Letters(
                    f"The figures are for {sentence_text(architecture, values)}, where {letters}."
                ),
                " One multiply-add is two FLOPs; only matrix products are counted.",
                f" Peak activation memory in float32: {peak}." if peak else "",
            )
        )
    tree = fold(architecture)
    found = (_sum(row, architecture, run) for row in (tree, *tree.children))
    blocks += filter(None, found)
    return Section("multiply-adds", "Multiply-adds and FLOPs", tuple(blocks))


def _sum(row: TreeRow, architecture: Architecture, run: ActivationRun | None) -> Sum | None:
    assert architecture.costs is not None
    steps = cost_of(row.node, architecture, bindings(architecture, run))
    if steps is not None:
        flops = FLOPS_PER_MAC * steps.result
        result = f"{steps.result:,} multiply-adds = {flops:,} FLOPs"
        return Sum.of(row.label, steps, result)
    found = architecture.costs.modules.get(row.node.path)
    if found is None or found.macs is not None:
        return None
    return Sum(row.label, (), "", reason=why_no_formula(architecture, row.node.path))


def _memory(subject: Subject) -> Section:
    rows = tuple(
        Row.of(Code(names), mega, mebi)
        for names, mega, mebi in memory_rows(subject.architecture.root.parameters)
    )
    columns = (
        Column("Dtype"),
        Column("MB", "decimal", unit="10⁶ bytes"),
        Column("MiB", "decimal", unit="2²⁰ bytes"),
    )
    table = Table(columns, rows, _MEMORY, ("Size of the weights by dtype.",))
    intro = Paragraph.of(
        See(_MEMORY), " gives the size of the weights, in memory and in a file, for common dtypes."
    )
    blocks: list[Block] = [intro, table]
    values = bindings(subject.architecture, subject.run)
    if text := kv_cache_text(subject.architecture, values):
        blocks.append(Paragraph.of(f"Memory of the key/value cache: {text}."))
    blocks += subject.answers("memory")
    return Section("memory", "Size of the weights", tuple(blocks))
