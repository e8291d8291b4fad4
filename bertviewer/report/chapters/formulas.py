"""What the parts of the model compute, one formula for each class."""

from collections.abc import Iterator

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.report.answers import answers
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
from bertviewer.report.pictures import Drafted
from bertviewer.report.subject import Subject

# Formulas that say nothing that a reader of the report would look for.
_PLAIN_ROLES = frozenset({"composition", "dropout"})

Uses = tuple[tuple[ModuleNode, Formula], ...]


def formulas(subject: Subject) -> Drafted | None:
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
    said: set[str] = set()
    for uses in found:
        blocks += _blocks(uses, said)
    blocks += answers(subject, "formulas")
    return Drafted(Section("formulas", "What each part computes", tuple(blocks)))


def _formulas(tree: TreeRow, architecture: Architecture) -> Iterator[Uses]:
    """Yield the modules of each class and formula that are used in different ways.

    The queries and the feed-forward network are made by one class, and are not used alike.
    """
    found: dict[tuple[str, str], dict[str, tuple[ModuleNode, Formula]]] = {}
    for row in _rows(tree):
        formula = formula_of(row.node, architecture)
        if formula is None or row.node.role in _PLAIN_ROLES:
            continue
        uses = found.setdefault((row.node.class_name, formula.title), {})
        uses.setdefault(formula.summary, (row.node, formula))
    for uses in found.values():
        yield tuple(uses.values())


def _rows(row: TreeRow) -> Iterator[TreeRow]:
    yield row
    for child in row.children:
        yield from _rows(child)


def _blocks(uses: Uses, said: set[str]) -> Iterator[Block]:
    """Yield a formula with the notes that were not said before, and what else it is used for."""
    node, formula = uses[0]
    about: Text = (Code(node.class_name),)
    if node.path:
        about = (Code(node.class_name), " · ", Code(node.path))
    notes = tuple(note for note in formula.notes if note not in said)
    said.update(notes)
    summary = formula.summary if len(uses) == 1 else ""
    yield FormulaBlock(
        *(formula.title, about, summary, formula.maths, formula.terms, notes, formula.source)
    )
    if len(uses) > 1:
        rows = tuple(Row.of(Code(node.path), formula.summary) for node, formula in uses)
        yield Table((Column("Used as", share=1), Column("What it computes", share=1.4)), rows)
