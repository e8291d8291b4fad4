"""What each kind of step computes, as mathematics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import (
    LAYER_NORM,
    RMS_NORM,
    ROTATION,
    SOFTMAX,
    number_maths,
    quoted,
)
from bertviewer.core.formulas.steps import mixtures
from bertviewer.core.formulas.steps.attention import ROOT, Roles, attention_of
from bertviewer.core.formulas.steps.expression import PRODUCT, SUM, Expression, Legend, call
from bertviewer.core.formulas.steps.naming import POSITIONS, Names
from bertviewer.core.formulas.steps.networks import Networks
from bertviewer.core.formulas.steps.origins import turned_by
from bertviewer.core.formulas.steps.shapes import Shapes
from bertviewer.core.formulas.steps.values import MASK, Values
from bertviewer.core.formulas.steps.weights import Weights
from bertviewer.core.formulas.steps.words import of_word
from bertviewer.core.formulas.templates.embedding import constant_factor
from bertviewer.core.text.numerals import count_text, number_text

_NORMS: Mapping[str, tuple[str, str]] = {
    "layer norm": (LAYER_NORM, "layer normalisation of each position’s vector"),
    "rms norm": (RMS_NORM, "root-mean-square normalisation of each position’s vector"),
    "group norm": ('op("GroupNorm")', "normalisation within groups of features"),
    "batch norm": ('op("BatchNorm")', "normalisation by the mean and variance kept from training"),
    "instance norm": ('op("InstanceNorm")', "normalisation of each feature by itself"),
}
_ATTENTION = '"Attention"'
_CLOSE = 1e-3
FIRST = "part [:, 0]"


@dataclass(slots=True)
class Expressions:
    """Writes steps by their kind.

    ``networks`` and ``definitions`` gather the functions that need a line of their own.
    """

    steps: ModuleGraph
    names: Names
    view: ModuleView
    shapes: Shapes
    legend: Legend = field(default_factory=Legend)
    values: Values = field(init=False)
    networks: Networks = field(init=False)
    definitions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weights = Weights(self.view, self.legend, self.names.naming)
        self.values = Values(
            self.steps, self.names, self.legend, weights, self.shapes, self.expression
        )
        self.networks = Networks(self.values)

    def expression(self, step: Step) -> Expression:
        """Return what a step computes."""
        write = self._kinds().get(step.node.operation or "")
        if write is not None:
            return write(step)
        if step.node.kind == "module" and "operands" not in step.node.details:
            return self._closed(step)
        return self._word(step)

    def _kinds(self) -> Mapping[str, Callable[[Step], Expression]]:
        return {
            **dict.fromkeys(_NORMS, self._norm),
            "scale and shift": self._affine,
            "linear": self._linear,
            "embedding": self._embedding,
            "convolution": self._convolution,
            "activation": self._activation,
            "attention": self._attention,
            "rotary": self._rotary,
            "residual": self._residual,
            "feed-forward": self.networks.of,
            "gated feed-forward": self.networks.of,
            "routing": lambda step: mixtures.routing(self.values, step),
            "experts": self._experts,
            "position bias": self._group,
        }

    def _norm(self, step: Step) -> Expression:
        symbol, meaning = _NORMS[step.node.operation or ""]
        epsilon = step.node.details.get("eps")
        value = f"epsilon {number_text(epsilon, 6)}" if isinstance(epsilon, float) else None
        if step.node.details.get("one_plus"):
            meaning += ", scaled by 1 + weight"
        known = self.legend.terms.get(symbol)
        if known is not None and known.value != value:
            value = f"{known.value} or {value}"
            self.legend.terms[symbol] = Term(symbol, meaning, value)
        self.legend.add(symbol, meaning, value)
        return call(symbol, self.values.first(step).text)

    def _affine(self, step: Step) -> Expression:
        index = self.names.indices.get(step.node.id, "")
        suffix = f"_{index}" if index else ""
        self.values.weights.vectors(step.node.path or "", f"gamma{suffix}", f"beta{suffix}")
        self.legend.add("dot.o", "element-wise product")
        inner = self.values.first(step).within(PRODUCT)
        return Expression(f"{inner} dot.o gamma{suffix} + beta{suffix}", SUM)

    def _linear(self, step: Step) -> Expression:
        index = self.names.indices.get(step.node.id, "")
        return self.values.weights.linear(step, self._data(step), index)

    def _data(self, step: Step) -> Expression:
        """Return what a step takes beside its parameters."""
        found = [o for o in step.operands if o.is_tensor]
        data = next((o for o in found if not o.parameter), None)
        return self.values.of(data or next(iter(found), Operand()))

    def _embedding(self, step: Step) -> Expression:
        index = self.names.indices.get(step.node.id, "")
        table = self.values.weights.table(step, index)
        found = next((o for o in step.operands if o.is_tensor and not o.parameter), Operand())
        rows = self.names.places.get((found.node, ()), "p")
        if index == POSITIONS and rows in ("p", "s"):
            self.legend.add(rows, _positions(step, self.view))
        table = f"{self._factor(step)}{table}"
        if not found.node:
            self.legend.add("p", "row indices that do not depend on the text: positions")
            return Expression(f"{table} [p]")
        return Expression(f"{table} [{self.values.of(found).text}]")

    def _factor(self, step: Step) -> str:
        """Return the constant that a table multiplies its rows by, "" for none."""
        table = self.view.at(step.node.path or "")
        steps = () if table is None or table.graph is None else table.graph.steps
        if table is None or len(steps) < 2 or table.node.path == self.view.node.path:
            return ""
        factor, width = constant_factor(steps[1], table), step.node.shape[-1]
        if factor in (1, None):
            return ""
        root = abs((factor or 0) ** 2 - width) < _CLOSE
        return f"sqrt({width}) thick " if root else f"{number_maths(factor or 0)} thick "

    def _convolution(self, step: Step) -> Expression:
        index = self.names.indices.get(step.node.id, "")
        return self.values.weights.convolution(step, self._data(step), index)

    def _activation(self, step: Step) -> Expression:
        return call(self.values.activation(step), self.values.first(step).text)

    def _attention(self, step: Step) -> Expression:
        if step.node.details.get("projections"):
            self.legend.add(_ATTENTION, "multi-head attention with its own projections")
            return call(_ATTENTION, *self.values.arguments(step))
        names = ("query", "key", "value", "mask", "bias")
        query, key, value, mask, bias = (self._role(step, role) for role in names)
        roles = Roles(query, key, value, mask, bias, self.values.of)
        try:
            found = attention_of(step, roles, self.view.architecture.flows)
        except LookupError:
            self.legend.add(_ATTENTION, "attention; its internal steps could not be identified")
            return call(_ATTENTION, *self.values.arguments(step))
        self.legend.add("M", MASK)
        if ROOT in found.text:
            size = str(step.node.details.get("head_size"))
            self.legend.add("d_k", "head size; the scores are divided by its square root", size)
        self.legend.add(SOFTMAX, "over all visible positions; each row sums to 1")
        return found

    def _role(self, step: Step, role: str) -> Expression:
        operand = step.roles.get(role)
        if operand is not None:
            return self.values.of(operand)
        if role in ("key", "value") and "query" in step.roles:
            return self._role(step, "query")
        return Expression({"mask": "M", "bias": "B"}.get(role, "X"))

    def _rotary(self, step: Step) -> Expression:
        position = step.roles.get("position")
        inner = self.values.of(turned_by(step))
        meaning = "rotates pairs of features by an angle that grows with the position"
        self.legend.add(ROTATION, f"{meaning}; no parameters")
        angles = () if position is None else (self.values.of(Operand(position.node)).text,)
        return call(ROTATION, inner.text, *angles)

    def _residual(self, step: Step) -> Expression:
        skip = step.roles.get("residual")
        tensors = list(step.tensors)
        tensors.sort(key=lambda each: skip is None or each.node != skip.node)
        return Expression(" + ".join(self.values.of(each).within(SUM) for each in tensors), SUM)

    def _experts(self, step: Step) -> Expression:
        found, told = mixtures.experts(self.values, step)
        if told:
            self.definitions.setdefault(mixtures.EXPERT, f"{mixtures.EXPERT} (x) = {told}")
        return found

    def _group(self, step: Step) -> Expression:
        inner = step.inner
        return self.values.put_together(inner, inner[-1]) if inner else self._word(step)

    def _closed(self, step: Step) -> Expression:
        """Return the call of a module that is explained elsewhere."""
        naming, name = self.names.naming, step.node.name
        known = naming.functions.get(step.node.id)
        if naming.teaches or known:
            child = self.view.at(step.node.path or "")
            arguments = self.values.arguments(step)
            if len(step.tensors) == 1 and child is not None and reads_first(child):
                (only,) = step.tensors
                arguments = (self.values.of(Operand(only.node, (FIRST,))).text,)
            return call(known or quoted(title_case(name)), *arguments)
        number = (step.node.path or "").rpartition(".")[2]
        holder = list_of(step.node) if number.isdecimal() else ""
        function = f"{quoted(holder)}_{number}" if holder else quoted(name)
        module = self.view.architecture.module(step.node.path or "")
        about = "a separate module" if module is None else module.class_name
        self.legend.add(function, about, self.parameters(step.node))
        return call(function, *self.values.arguments(step))

    def _word(self, step: Step) -> Expression:
        word = step.node.operation or step.node.name
        operands = [self.values.of(each) for each in step.operands if not each.key]
        named = [(each.key, self.values.of(each).text) for each in step.operands if each.key]
        if word == "mul" and len(operands) == 2:
            self.legend.add("dot.o", "element-wise product")
        return of_word(word, operands, named)

    def parameters(self, node: Node) -> str | None:
        """Return how many parameters a module has, in words."""
        found = self.view.architecture.module(node.path or "")
        if found is None:
            return None
        return count_text(found.parameters, "1 parameter", "{0} parameters")


def _positions(step: Step, view: ModuleView) -> str:
    """Return how positions are counted as rows of a table."""
    table = view.at(step.node.path or "")
    first = None if table is None else table.integer("offset")
    padding = None if table is None else table.integer("padding_idx")
    if not first and padding is not None:
        first = padding + 1
    return f"positions, counted from {first or 0}"


def list_of(node: Node) -> str:
    """Return the name of the list that a numbered module is in, "" for others."""
    above = (node.path or "").split(".")[:-1]
    count = 2 if above and above[-1].isdecimal() else 1
    return ".".join(above[-count:])


def title_case(name: str) -> str:
    """Return a module's name as the name of a function: patch_embed is PatchEmbed."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def reads_first(view: ModuleView) -> bool:
    """Return whether a module reads the first position only."""
    graph = view.graph
    if graph is None:
        return False
    read = [o for step in graph.steps for o in step.tensors if o.node in graph.given]
    return bool(read) and all(is_first(operand.parts) for operand in read)


def is_first(parts: Sequence[str]) -> bool:
    """Return whether only the first position is taken of a tensor."""
    return any(each.startswith("part [:, 0") for each in parts)
