"""The formula of a module, with this module's own values."""

from bertviewer.core.architecture import Architecture, ModuleNode
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.kinds import kinds
from bertviewer.core.formulas.roles import ROLE_BY_CLASS
from bertviewer.core.formulas.subject import Subject


def formula_of(node: ModuleNode, architecture: Architecture) -> Formula | None:
    """Return what ``node`` computes, ``None`` where its class has no role.

    A stranger's module may carry a known name and be built otherwise: it gets no formula rather
    than a wrong one.
    """
    role = ROLE_BY_CLASS.get(node.class_name)
    if role is None:
        return None
    try:
        return role.build(Subject.of(node, architecture))
    except (LookupError, TypeError, ValueError):
        return None


def maths_of(node: ModuleNode, architecture: Architecture) -> str | None:
    r"""Return the formula's lines joined by Typst's line break in mathematics (``\``)."""
    formula = formula_of(node, architecture)
    return None if formula is None else " \\ ".join(formula.maths)


def all_maths(architecture: Architecture) -> dict[str, str | None]:
    """Return the lines of every module's formula by its path, written once for each kind."""
    written: dict[int, str | None] = {}
    by_path = kinds(architecture)
    for node in architecture.modules:
        if (kind := by_path[node.path]) not in written:
            written[kind] = maths_of(node, architecture)
    return {path: written[kind] for path, kind in by_path.items()}
