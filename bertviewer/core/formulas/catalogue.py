"""The formula of a module, with this module's own values."""

from dataclasses import replace

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import FormulaFrom, ModuleNode
from bertviewer.core.families.families import CLASSES, kind_of_class
from bertviewer.core.families.family import Descriptions
from bertviewer.core.formulas.equal_modules import equal_modules
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.from_flow.from_flow import flow_formula
from bertviewer.core.formulas.kinds import FORMULAS, NOT_AS_KNOWN
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import true_notes
from bertviewer.core.formulas.target import has_target, of_target, reads_target
from bertviewer.core.system.log import write_log


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
