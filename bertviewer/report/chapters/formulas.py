"""Chapter with the forward formulas, one for each class of module."""

from collections.abc import Iterator

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    FormulaBlock,
    Paragraph,
    Row,
    Section,
    Table,
    Text,
)
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject

# Their formulas are trivial.
_OMITTED_ROLES = frozenset({"composition", "dropout"})

Uses = tuple[tuple[ModuleNode, Formula], ...]


def formulas(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` where no module has a formula."""
    found = tuple(_formulas(fold(subject.architecture), subject.architecture))
    if not found:
        return None
    intro = (
        "This chapter shows what the modules compute in evaluation mode, with one formula per "
        "class and the sizes of its first module. Each formula is followed by its symbols, "
        "remarks and the source."
    )
    blocks: list[Block] = [Paragraph.of(intro)]
    shown: set[str] = set()
    for uses in found:
        blocks += _blocks(uses, shown)
    blocks += subject.answers("formulas")
    return ChapterDraft(Section("formulas", "What each part computes", tuple(blocks)))


def _formulas(tree: TreeRow, architecture: Architecture) -> Iterator[Uses]:
    """Yield the modules of each class and formula, one for each use.

    Queries and feed-forward networks are both computed by a ``Linear``, for example.
    """
    found: dict[tuple[str, str], dict[str, tuple[ModuleNode, Formula]]] = {}
    for row in _rows(tree):
        formula = formula_of(row.node, architecture)
        if formula is None or row.node.role in _OMITTED_ROLES:
            continue
        uses = found.setdefault((row.node.class_name, formula.title), {})
        uses.setdefault(formula.summary, (row.node, formula))
    for uses in found.values():
        yield tuple(uses.values())


def _rows(row: TreeRow) -> Iterator[TreeRow]:
    yield row
    for child in row.children:
        yield from _rows(child)


def _blocks(uses: Uses, shown: set[str]) -> Iterator[Block]:
    """Yield a formula without the notes of earlier ones, and a table of its uses."""
    node, formula = uses[0]
    about: Text = (Code(node.class_name),)
    if node.path:
        about = (Code(node.class_name), " · ", Code(node.path))
    notes = tuple(note for note in formula.notes if note not in shown)
    shown.update(notes)
    summary = formula.summary if len(uses) == 1 else ""
    yield FormulaBlock(
        *(formula.title, about, summary, formula.maths, formula.terms, notes, formula.source),
        name=f"equation:{node.path}",
    )
    if len(uses) > 1:
        rows = tuple(Row.of(Code(node.path), formula.summary) for node, formula in uses)
        yield Table((Column("Used as", share=1), Column("What it computes", share=1.4)), rows)
