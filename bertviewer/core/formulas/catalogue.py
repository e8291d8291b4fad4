"""The formula of a module: that of the first template that its graph matches, else its steps."""

import re
from collections.abc import Hashable
from dataclasses import replace

from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.formulas.facts import has_target, reads_target
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TARGET, TOKENS
from bertviewer.core.formulas.notes import true_notes
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.catalogue import TEMPLATES

_LENGTH = re.compile(r"\bS\b'?")


def formula_of(node: ModuleNode, architecture: Architecture) -> Formula | None:
    """Return what a module computes; ``None`` while no graph of it is known."""
    return _explained(ModuleView.of(node, architecture))[0]


def with_formulas(architecture: Architecture) -> Architecture:
    """Return an architecture with each module's formula and role."""
    written: dict[Hashable, tuple[Formula | None, str]] = {}
    numbers, flows = equal_modules(architecture), architecture.flows
    modules = []
    for node in architecture.modules:
        # Modules that are built equally may be called in different ways.
        first = None if flows is None else flows.like.get(node.path, node.path)
        called = first if flows is not None and first in flows.distinct else None
        facts = numbers[node.path], reads_target(node, architecture), called
        if facts not in written:
            written[facts] = _explained(ModuleView.of(node, architecture))
        formula, role = written[facts]
        modules.append(
            replace(
                node,
                forward_formula=None if formula is None else " \\ ".join(formula.maths),
                formula_from=None if formula is None else "role" if role else "flow",
                role=role,
            )
        )
    return replace(architecture, modules=tuple(modules))


def _explained(view: ModuleView) -> tuple[Formula | None, str]:
    """Return a module's formula, and the role of its template, "" for plain steps."""
    for template in TEMPLATES:
        formula, role = template.formula(view), template.role
        if formula is not None:
            formula = replace(formula, notes=true_notes(formula.notes, view))
            is_scored = role == "task model" and has_target(view.architecture)
            is_of_target = is_scored or reads_target(view.node, view.architecture)
            return _for_target(formula) if is_of_target else formula, role
    return formula_of_steps(view), ""


def equal_modules(architecture: Architecture) -> dict[str, int]:
    """Return a number for each module's path, the same for equal modules.

    Two modules are equal if they and all modules below them have the same names, classes,
    attributes and tensors; the index of a layer does not count. A thousand equal layers have the
    numbers of one.
    """
    tensors: dict[str, list[Hashable]] = {}
    for tensor in architecture.parameters:
        # A module that is reachable by two paths has tensors at both, but is one node.
        path = next(path for path in ancestors(tensor.owner) if architecture.module(path))
        facts = (tensor.name[len(path) :], tensor.shape, tensor.tied_to)
        tensors.setdefault(path, []).append(facts)
    numbers: dict[Hashable, int] = {}
    found: dict[str, int] = {}
    for node in reversed(architecture.modules):  # children come after their parent
        attributes = {name: v for name, v in node.attributes.items() if name != "layer_idx"}
        known = (
            "" if node.repeat else node.name,
            node.class_name,
            repr(attributes),  # 1, 1.0 and True are equal but written differently
            tuple(tensors.get(node.path, ())),
            tuple((child.name, found[child.path]) for child in architecture.children(node.path)),
        )
        found[node.path] = numbers.setdefault(known, len(numbers))
    return found


def _for_target(formula: Formula) -> Formula:
    """Return a formula with S_d for the module's own tokens, and S for the encoder's."""

    def renamed(text: str) -> str:
        return _LENGTH.sub(lambda found: "S" if found[0].endswith("'") else "S_d", text)

    def of_target(term: Term) -> Term:
        value = term.value and renamed(term.value)
        return TARGET if term == TOKENS else replace(term, symbol=renamed(term.symbol), value=value)

    maths, terms = map(renamed, formula.maths), map(of_target, formula.terms)
    return replace(formula, maths=tuple(maths), terms=tuple(terms))
