"""The formula of a module: that of the first template that matches its graph, else its steps."""

from collections.abc import Hashable, Iterator

from msgspec.structs import replace

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.activation import ACTIVATION, TORCH_NN
from bertviewer.core.formulas.embedding import EMBEDDING
from bertviewer.core.formulas.formula import POSITIONS, TOKENS, Formula, Term, quoted
from bertviewer.core.formulas.module_view import ModuleView, reads_image_or_sound, reads_target
from bertviewer.core.formulas.norm import NORM
from bertviewer.core.formulas.steps.lines import formula_of_steps
from bertviewer.core.formulas.template import Template
from bertviewer.core.formulas.templates.attention import ATTENTION
from bertviewer.core.formulas.templates.embeddings import EMBEDDINGS, PATCHES
from bertviewer.core.formulas.templates.feed_forward import EXPERTS, FEED_FORWARD
from bertviewer.core.formulas.templates.layer import LAYER
from bertviewer.core.formulas.templates.linear import LINEAR
from bertviewer.core.formulas.templates.mixing import CONVOLUTION, MIXING
from bertviewer.core.formulas.templates.model import MODELS
from bertviewer.core.formulas.templates.rotary import ROTARY_POSITIONS
from bertviewer.core.formulas.templates.stack import STACK
from bertviewer.core.formulas.templates.task_heads import HEADS
from bertviewer.core.formulas.templates.task_model import TASK_MODELS
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.util.numbers import count_text

TEMPLATES: tuple[Template, ...] = (
    *TORCH_NN,
    LINEAR,
    EMBEDDING,
    ROTARY_POSITIONS,
    *NORM,
    ACTIVATION,
    *ATTENTION,
    EMBEDDINGS,
    PATCHES,
    *HEADS,
    TASK_MODELS,
    STACK,
    MODELS,
    FEED_FORWARD,
    LAYER,
    EXPERTS,
    CONVOLUTION,
    *MIXING,
)
"""In the order in which they are tried; the first that matches is used."""


def formula_of(node: ModuleNode, architecture: Architecture) -> Formula | None:
    """Return the formula of a module, ``None`` without a graph."""
    return _explained(ModuleView.of(node, architecture))[0]


def with_formulas(architecture: Architecture) -> Architecture:
    """Return an architecture with the formulas and roles of all modules."""
    known: dict[Hashable, tuple[Formula | None, str]] = {}
    views: dict[str, ModuleView] = {}
    modules = []
    for node in architecture.modules:
        key = _formula_key(node, architecture)
        if key not in known:
            known[key] = _explained(ModuleView.of(node, architecture, views))
        formula, role = known[key]
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
    found = (template.explain(view) for template in TEMPLATES)
    formula, role = next(filter(None, found), None) or (formula_of_steps(view), "")
    if formula is not None and TOKENS in formula.terms and reads_image_or_sound(view):
        terms = tuple(POSITIONS if term == TOKENS else term for term in formula.terms)
        formula = replace(formula, terms=terms)
    return formula, role


def _formula_key(node: ModuleNode, architecture: Architecture) -> Hashable:
    """Return all that a formula depends on, equal for equal layers, as a dictionary key."""
    flows, skip = architecture.flows, len(node.path)
    first = "" if flows is None else flows.like.get(node.path, node.path)
    attributes = {name: v for name, v in node.attributes.items() if name != "layer_idx"}
    return (
        first if flows is not None and first in flows.distinct else "",
        reads_target(node, architecture),
        "" if node.repeat else node.name,
        node.class_name,
        repr(attributes),  # as 1 == 1.0 == True
        tuple((t.name[skip:], t.shape) for t in architecture.tensors_below(node.path)),
        tuple((child.name, child.class_name) for child in architecture.children(node.path)),
    )


def formula_of_parts(node: ModuleNode, architecture: Architecture) -> Formula:
    """Return the children and tensors of a module without a formula, as a ``Formula``.

    Equal numbered children are one term.
    """
    members = tuple(_members(node, architecture))
    tensors = tuple(
        Term(quoted(each.name.rpartition(".")[2]), "tensor of this module", shape_text(each.shape))
        for each in architecture.tensors_below(node.path)
        if each.owner == node.path
    )
    held = [name for name, found in (("modules", members), ("tensors", tensors)) if found]
    parts = f"consists of the {' and the '.join(held)} below"
    return Formula(
        title=node.class_name,
        summary="No formula is known for this class. It "
        f"{parts if held else 'contains neither modules nor tensors'}.",
        maths=(f"y = {quoted(node.class_name)}(x)",),
        terms=(*members, *tensors),
        notes=("Each part has its own page.",) if members else (),
        source=node.class_module or node.class_name,
    )


def _members(node: ModuleNode, architecture: Architecture) -> Iterator[Term]:
    for child in architecture.children(node.path):
        name, times, count = child.name, "", child.parameters
        if (repeat := child.repeat) is not None:
            if name != str(repeat.first):
                continue
            name, times = f"{repeat.first} … {repeat.last}", f"{repeat.count} × "
            count *= repeat.count
        held = count_text(count, "1 parameter", "{0} parameters")
        yield Term(quoted(name), f"{times}{child.class_name}", held)
