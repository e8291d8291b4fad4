"""The formula of a module, found by its path."""

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula


def node_at(architecture: Architecture, path: str) -> ModuleNode:
    return next(node for node in architecture.modules if node.path == path)


def formula_at(architecture: Architecture, path: str) -> Formula:
    formula = formula_of(node_at(architecture, path), architecture)
    assert formula is not None
    return formula


def values(formula: Formula) -> dict[str, str | None]:
    return {term.symbol: term.value for term in formula.terms}
