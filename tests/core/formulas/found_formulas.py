"""The formula of a module, found by its path."""

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode


def node_at(architecture: Architecture, path: str) -> ModuleNode:
    return next(node for node in architecture.modules if node.path == path)


def formula_at(architecture: Architecture, path: str) -> Formula:
    formula = formula_of(node_at(architecture, path), architecture)
    assert formula is not None
    return formula


def maths_of(node: ModuleNode, architecture: Architecture) -> str | None:
    """Return the lines of a module's formula as an architecture has them."""
    formula = formula_of(node, architecture)
    return None if formula is None else " \\ ".join(formula.maths)


def values(formula: Formula) -> dict[str, str | None]:
    return {term.symbol: term.value for term in formula.terms}
