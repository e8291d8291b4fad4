"""The formula of a module, with this module's own values."""

import re
from collections.abc import Hashable
from dataclasses import replace

from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.module_node import FormulaFrom, ModuleNode
from bertviewer.core.families.families import CLASSES, kind_of_class
from bertviewer.core.families.family import Descriptions
from bertviewer.core.families.names import is_cross_attention
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.from_flow.from_flow import flow_formula
from bertviewer.core.formulas.kinds import FORMULAS, NOT_AS_KNOWN
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TARGET, TOKENS
from bertviewer.core.formulas.notes import true_notes
from bertviewer.core.system.log import write_log

LAYER_NUMBER = "layer_idx"
"""The attribute of a module that says in which layer it is. No formula asks for it."""


def equal_modules(architecture: Architecture) -> dict[str, int]:
    """Return a number by each module's path, the same for modules that are equal.

    Two are equal if they and all below them have the same names, classes, attributes and tensors,
    and stand in a layer's cross-attention or not; a layer's own number does not count. A thousand
    layers have the numbers of one.
    """
    tensors: dict[str, list[Hashable]] = {node.path: [] for node in architecture.modules}
    for tensor in architecture.parameters:
        # A module that stands in two places has tensors in both, and is a node in one.
        path = next(path for path in ancestors(tensor.owner) if path in tensors)
        skip = len(path) + 1 if path else 0
        tensors[path].append((tensor.name[skip:], tensor.shape, tensor.tied_to))
    numbers: dict[Hashable, int] = {}
    found: dict[str, int] = {}
    for node in reversed(architecture.modules):  # what is below a module stands after it
        attributes = node.attributes
        if LAYER_NUMBER in attributes:
            attributes = {n: v for n, v in attributes.items() if n != LAYER_NUMBER}
        facts = (
            "" if node.repeat else node.name,
            node.class_name,
            # RoFormer's attention to an encoder is of the same class as its self-attention.
            is_cross_attention(node.path),
            repr(attributes),  # 1, 1.0 and True are equal, and written in other ways
            tuple(tensors[node.path]),
            tuple((child.name, found[child.path]) for child in architecture.children(node.path)),
        )
        found[node.path] = numbers.setdefault(facts, len(numbers))
    return found


_LENGTH = re.compile(r"\bS\b'?")


def reads_target(node: ModuleNode, architecture: Architecture) -> bool:
    """Tell whether a module is a part of the decoder of an encoder-decoder."""
    parts = node.path.split(".")
    for place, part in enumerate(parts):
        holder = ".".join(parts[:place])
        if part == "decoder" and "encoder" in {c.name for c in architecture.children(holder)}:
            return True
    return False


def has_target(architecture: Architecture) -> bool:
    """Tell whether a model reads two sequences: what its head scores is the target then."""
    return any(reads_target(node, architecture) for node in architecture.modules)


def of_target(formula: Formula) -> Formula:
    """Return a formula with S_d for its own tokens, and S for those that the encoder read."""
    return replace(
        formula,
        maths=tuple(_LENGTH.sub(_renamed, line) for line in formula.maths),
        terms=tuple(TARGET if term == TOKENS else _term(term) for term in formula.terms),
    )


def _term(term: Term) -> Term:
    value = None if term.value is None else _LENGTH.sub(_renamed, term.value)
    return replace(term, symbol=_LENGTH.sub(_renamed, term.symbol), value=value)


def _renamed(found: re.Match[str]) -> str:
    return "S" if found[0].endswith("'") else "S_d"


def formula_of(
    node: ModuleNode, architecture: Architecture, classes: Descriptions = CLASSES
) -> Formula | None:
    """Return what ``node`` computes: by its class's role, else as its flow has it.

    A stranger's module may carry a known name and be built otherwise: it gets no role's formula
    rather than a wrong one, and the log says why. ``None`` where there is no flow either, as before
    flows are derived. ``classes`` says what a class is.
    """
    view = ModuleView.of(node, architecture, classes)
    formula = _of_kind(view)
    if formula is not None:
        return replace(formula, notes=true_notes(formula.notes, view))
    return _of_flow(view)


def with_formulas(architecture: Architecture) -> Architecture:
    """Return an architecture with the lines of every module's formula, and where it is from."""
    written: dict[object, tuple[str | None, FormulaFrom | None]] = {}
    numbers = equal_modules(architecture)
    flows = architecture.flows
    modules = []
    for node in architecture.modules:
        # Modules that are built alike may be called in ways of their own.
        first = None if flows is None else flows.like.get(node.path, node.path)
        called = first if flows is not None and first in flows.distinct else None
        facts = numbers[node.path], reads_target(node, architecture), called
        if facts not in written:
            written[facts] = _maths(ModuleView.of(node, architecture))
        maths, origin = written[facts]
        modules.append(replace(node, forward_formula=maths, formula_from=origin))
    return replace(architecture, modules=tuple(modules))


def _maths(view: ModuleView) -> tuple[str | None, FormulaFrom | None]:
    origin: FormulaFrom = "role"
    formula = _of_kind(view)
    if formula is None:
        formula, origin = _of_flow(view), "flow"
    return (None, None) if formula is None else (" \\ ".join(formula.maths), origin)


def _of_kind(view: ModuleView) -> Formula | None:
    kind = kind_of_class(view.node.class_name, view.classes)
    if kind is None:
        return None
    try:
        formula = FORMULAS[kind](view)
    except NOT_AS_KNOWN as error:
        write_log(f"{view.node.path!r}, a {view.node.class_name}, is not made as known: {error!r}")
        return None
    if reads_target(view.node, view.architecture) or (
        kind.role == "task model" and has_target(view.architecture)
    ):
        return of_target(formula)
    return formula


def _of_flow(view: ModuleView) -> Formula | None:
    flows = view.architecture.flows
    flow = None if flows is None else flows.flow(view.node.path)
    return None if flow is None else flow_formula(flow, view)
