"""The formula of a module: that of the first template that its graph matches, else its steps."""

from collections.abc import Hashable

from msgspec.structs import replace

from bertviewer.core.formulas.facts import reads_data, reads_target
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import POSITIONS, TOKENS
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.activation import ACTIVATION
from bertviewer.core.formulas.templates.attention import ATTENTION
from bertviewer.core.formulas.templates.convolution import CONVOLUTION
from bertviewer.core.formulas.templates.embedding import EMBEDDING
from bertviewer.core.formulas.templates.embeddings import EMBEDDINGS
from bertviewer.core.formulas.templates.experts import EXPERTS
from bertviewer.core.formulas.templates.feed_forward import FEED_FORWARD
from bertviewer.core.formulas.templates.head import HEADS
from bertviewer.core.formulas.templates.layer import LAYER
from bertviewer.core.formulas.templates.linear import LINEAR
from bertviewer.core.formulas.templates.mixing import MIXING
from bertviewer.core.formulas.templates.model import MODELS
from bertviewer.core.formulas.templates.norm import NORM
from bertviewer.core.formulas.templates.patches import PATCHES
from bertviewer.core.formulas.templates.rotary import ROTARY_POSITIONS
from bertviewer.core.formulas.templates.stack import STACK
from bertviewer.core.formulas.templates.task_model import TASK_MODELS
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.formulas.templates.torch_nn import TORCH_NN
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode

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
"""In the order in which they are tried: the first that matches explains a module."""


def formula_of(node: ModuleNode, architecture: Architecture) -> Formula | None:
    """Return what a module computes; ``None`` while no graph of it is known."""
    return _explained(ModuleView.of(node, architecture))[0]


def with_formulas(architecture: Architecture) -> Architecture:
    """Return an architecture with each module's formula and role."""
    written: dict[Hashable, tuple[Formula | None, str]] = {}
    views: dict[str, ModuleView] = {}
    modules = []
    for node in architecture.modules:
        facts = _facts(node, architecture)
        if facts not in written:
            written[facts] = _explained(ModuleView.of(node, architecture, views))
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
    found = (template.explain(view) for template in TEMPLATES)
    formula, role = next(filter(None, found), None) or (formula_of_steps(view), "")
    if formula is not None and TOKENS in formula.terms and reads_data(view):
        terms = tuple(POSITIONS if term == TOKENS else term for term in formula.terms)
        formula = replace(formula, terms=terms)
    return formula, role


def _facts(node: ModuleNode, architecture: Architecture) -> Hashable:
    """Return what the lines of a formula depend on: equal layers have those of one."""
    flows, skip = architecture.flows, len(node.path)
    first = "" if flows is None else flows.like.get(node.path, node.path)
    attributes = {name: v for name, v in node.attributes.items() if name != "layer_idx"}
    return (
        first if flows is not None and first in flows.distinct else "",
        reads_target(node, architecture),
        "" if node.repeat else node.name,
        node.class_name,
        repr(attributes),  # 1, 1.0 and True are equal but written differently
        tuple((t.name[skip:], t.shape) for t in architecture.tensors_below(node.path)),
        tuple((child.name, child.class_name) for child in architecture.children(node.path)),
    )
