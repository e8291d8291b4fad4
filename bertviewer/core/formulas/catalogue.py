"""The formula of a module, with this module's own values."""

from dataclasses import replace

from bertviewer.core.architecture import Architecture, ModuleNode
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.kinds import kinds
from bertviewer.core.formulas.notes import true_notes
from bertviewer.core.formulas.roles import ROLE_BY_CLASS
from bertviewer.core.formulas.subject import Subject
from bertviewer.core.formulas.target import has_target, of_target, reads_target


def formula_of(node: ModuleNode, architecture: Architecture) -> Formula | None:
    """Return what ``node`` computes, ``None`` where its class has no role.

    A stranger's module may carry a known name and be built otherwise: it gets no formula rather
    than a wrong one.
    """
    subject = Subject.of(node, architecture)
    formula = _built(subject)
    return formula and replace(formula, notes=true_notes(formula.notes, subject))


def maths_of(node: ModuleNode, architecture: Architecture) -> str | None:
    r"""Return the formula's lines joined by Typst's line break in mathematics (``\``)."""
    formula = _built(Subject.of(node, architecture))
    return None if formula is None else " \\ ".join(formula.maths)


def all_maths(architecture: Architecture) -> dict[str, str | None]:
    """Return the lines of every module's formula by its path, written once for each kind."""
    written: dict[tuple[int, bool], str | None] = {}
    by_path = kinds(architecture)
    found = {}
    for node in architecture.modules:
        kind = by_path[node.path], reads_target(node, architecture)
        if kind not in written:
            written[kind] = maths_of(node, architecture)
        found[node.path] = written[kind]
    return found


def _built(subject: Subject) -> Formula | None:
    role = ROLE_BY_CLASS.get(subject.node.class_name)
    if role is None:
        return None
    try:
        formula = role.build(subject)
    except (LookupError, TypeError, ValueError):
        return None
    if reads_target(subject.node, subject.architecture) or (
        formula.role == "task model" and has_target(subject.architecture)
    ):
        return of_target(formula)
    return formula
