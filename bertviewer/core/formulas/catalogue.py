"""The formula of a module: that of the first template that its graph matches, else its steps."""

from collections.abc import Hashable
from dataclasses import replace

from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.families.names import is_cross_attention
from bertviewer.core.formulas.facts import reads_target
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import true_notes
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.catalogue import TEMPLATES
from bertviewer.core.frozen import frozen

LAYER_NUMBER = "layer_idx"
"""The attribute in which a module keeps the index of its layer. No formula depends on it."""


@frozen
class Explained:
    """A module's formula, and the role of the template that it is from, "" for plain steps."""

    formula: Formula
    role: str = ""


def formula_of(node: ModuleNode, architecture: Architecture) -> Formula | None:
    """Return what a module computes; ``None`` while no graph of it is known."""
    found = _explained(ModuleView.of(node, architecture))
    return None if found is None else found.formula


def with_formulas(architecture: Architecture) -> Architecture:
    """Return an architecture with each module's formula and role."""
    written: dict[object, Explained | None] = {}
    numbers = equal_modules(architecture)
    flows = architecture.flows
    modules = []
    for node in architecture.modules:
        # Modules that are built equally may be called in different ways.
        first = None if flows is None else flows.like.get(node.path, node.path)
        called = first if flows is not None and first in flows.distinct else None
        facts = numbers[node.path], reads_target(node, architecture), called
        if facts not in written:
            written[facts] = _explained(ModuleView.of(node, architecture))
        found = written[facts]
        if found is None:
            modules.append(replace(node, forward_formula=None, formula_from=None, role=""))
            continue
        modules.append(
            replace(
                node,
                forward_formula=" \\ ".join(found.formula.maths),
                formula_from="role" if found.role else "flow",
                role=found.role,
            )
        )
    return replace(architecture, modules=tuple(modules))


def _explained(view: ModuleView) -> Explained | None:
    for template in TEMPLATES:
        formula = template.formula(view)
        if formula is not None:
            formula = replace(formula, notes=true_notes(formula.notes, view))
            return Explained(formula, template.role)
    written = formula_of_steps(view)
    return None if written is None else Explained(written)


def equal_modules(architecture: Architecture) -> dict[str, int]:
    """Return a number for each module's path, the same for equal modules.

    Two modules are equal if they and all modules below them have the same names, classes,
    attributes and tensors, and both or neither are in a layer's cross-attention; the index of a
    layer does not count. A thousand equal layers have the numbers of one.
    """
    tensors: dict[str, list[Hashable]] = {node.path: [] for node in architecture.modules}
    for tensor in architecture.parameters:
        # A module that is reachable by two paths has tensors at both, but is one node.
        path = next(path for path in ancestors(tensor.owner) if path in tensors)
        skip = len(path) + 1 if path else 0
        tensors[path].append((tensor.name[skip:], tensor.shape, tensor.tied_to))
    numbers: dict[Hashable, int] = {}
    found: dict[str, int] = {}
    for node in reversed(architecture.modules):  # children come after their parent
        attributes = node.attributes
        if LAYER_NUMBER in attributes:
            attributes = {n: v for n, v in attributes.items() if n != LAYER_NUMBER}
        facts = (
            "" if node.repeat else node.name,
            node.class_name,
            # RoFormer's attention to an encoder has the class of its self-attention.
            is_cross_attention(node.path),
            repr(attributes),  # 1, 1.0 and True are equal but written differently
            tuple(tensors[node.path]),
            tuple((child.name, found[child.path]) for child in architecture.children(node.path)),
        )
        found[node.path] = numbers.setdefault(facts, len(numbers))
    return found
