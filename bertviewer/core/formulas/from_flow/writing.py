"""Writes a flow's steps as lines of mathematics."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from bertviewer.core.flow.flow import Node
from bertviewer.core.flow.operand import Operand
from bertviewer.core.formulas.attention_maths import ROTATION
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.from_flow import mixtures
from bertviewer.core.formulas.from_flow.attention import ROOT, Roles, attention_of
from bertviewer.core.formulas.from_flow.expression import PRODUCT, SUM, Expression, call
from bertviewer.core.formulas.from_flow.legend import Legend
from bertviewer.core.formulas.from_flow.naming import Names, turned_by
from bertviewer.core.formulas.from_flow.networks import Networks
from bertviewer.core.formulas.from_flow.shapes import Shapes
from bertviewer.core.formulas.from_flow.steps import Step, Steps, inner_steps
from bertviewer.core.formulas.from_flow.values import MASK, Values, at_round
from bertviewer.core.formulas.from_flow.weights import Weights
from bertviewer.core.formulas.from_flow.words import activation, of_word
from bertviewer.core.formulas.notation import LAYER_NORM, RMS_NORM, SOFTMAX, quoted
from bertviewer.core.formulas.subject import Subject
from bertviewer.core.numerals import count_text, number_text

_NORMS: Mapping[str, tuple[str, str]] = {
    "layer norm": (LAYER_NORM, "layer normalisation of each position's vector"),
    "rms norm": (RMS_NORM, "root-mean-square normalisation of each position's vector"),
    "group norm": ('op("GroupNorm")', "normalisation within groups of features"),
    "batch norm": ('op("BatchNorm")', "normalisation by the mean and variance kept from training"),
    "instance norm": ('op("InstanceNorm")', "normalisation of each feature by itself"),
}
_MEANINGS = {
    "residual": "sum with what went in before",
    "add": "sum",
    "routing": "the chosen experts",
    "experts": "weighted sum of the experts",
    "attention": "what attention found",
    "activation": "after the activation",
    "mul": "product",
}
_ATTENTION = '"Attention"'


@dataclass(slots=True)
class Writer:
    """Writes the lines of one module, and gathers what they need to be explained."""

    steps: Steps
    names: Names
    subject: Subject
    shapes: Shapes
    rounds: Mapping[str, int]
    legend: Legend = field(default_factory=Legend)
    values: Values = field(init=False)
    networks: Networks = field(init=False)
    loops_told: set[int] = field(default_factory=set)
    definitions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weights = Weights(self.subject, self.legend)
        self.values = Values(
            self.steps, self.names, self.legend, weights, self.shapes, self.expression
        )
        self.networks = Networks(self.values)

    def lines(self) -> Iterator[str]:
        """Yield the lines in the order of execution, and then those that define functions."""
        for step in self.steps.steps:
            if step.node.id in self.names.own:
                yield from self._lines_of(step)
        several = self.names.several() or (len(self.steps.results) > 1 and not self.steps.steps)
        for place, (node, operand) in enumerate(self.steps.results):
            if operand.parts or not self._is_result(operand.node):
                name = f"Y_{place}" if several else "Y"
                yield f"{self.shapes.sized(name, node)} = {self.values.of(operand).text}"
                self.values.explain(name, "output", node)
        yield from self.networks.lines.values()
        yield from self.definitions.values()

    def expression(self, step: Step) -> Expression:
        """Return what a step computes."""
        write = self._kinds().get(step.node.operation or "")
        if write is not None:
            return write(step)
        if step.node.kind == "module" and "operands" not in step.node.details:
            return self._closed(step)
        return self._word(step)

    def _is_result(self, node: str) -> bool:
        return self.names.places.get((node, ()), "").startswith("Y")

    def _lines_of(self, step: Step) -> Iterator[str]:
        node, symbol = step.node, self.names.symbol(step.node.id)
        if node.repeat is not None:
            yield from self._stack(step, symbol)
            return
        maths = self.expression(step).text
        if parts := self.names.parts_of(node.id):
            target = f"({', '.join(parts)})"
            self.legend.add(", ".join(parts), "parts of one product, side by side")
        else:
            shown = next((n for n, o in self.steps.results if o.node == node.id), node)
            shown = shown if self._is_result(node.id) else node
            target = self.shapes.sized(symbol, shown)
            target = f"(g, {symbol})" if node.operation == "routing" else target
            if node.id in self.rounds:
                target = symbol = at_round(symbol, "t")
            self.values.explain(symbol, _meaning(node), shown)
        more = ""
        if node.operation == "attention" and ROOT in maths:
            more = f", quad d_k = {node.details.get('head_size')}"
        rounds = self.rounds.get(node.id)
        if rounds is not None and rounds not in self.loops_told:
            self.loops_told.add(rounds)
            more = f", quad t = 0, dots, {rounds - 1}"
            self.legend.add("t", "the loop's round; before the first is what the code starts with")
        yield f"{target} = {maths}{more}"

    def _stack(self, step: Step, symbol: str) -> Iterator[str]:
        """Yield the lines of equal layers, one after the other."""
        node, repeat = step.node, step.node.repeat
        assert repeat is not None
        first, *others = self.values.arguments(step)
        function = quoted(_list_of(node) or node.name)
        more = "".join(f", {each}" for each in others)
        is_result = symbol.startswith("Y")
        base = self.names.stacks[node.id]
        last = f"{base}_{repeat.last + 1}"
        yield f"{base}_{repeat.first} = {first}"
        yield (
            f"{base}_(i+1) = {function}_i ({base}_i{more}), quad "
            f"i = {repeat.first}, dots, {repeat.last}"
        )
        if is_result:
            yield f"{self.shapes.sized(symbol, node)} = {last}"
        else:
            self.names.places[node.id, ()] = last
        self.legend.add(f"{function}_i", f"layer i, {node.class_name}", self._parameters(node))
        self.values.explain(f"{base}_i", "what goes into layer i", node)

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
        self.legend.add("dot.o", "product number by number")
        inner = self.values.first(step).within(PRODUCT)
        return Expression(f"{inner} dot.o gamma{suffix} + beta{suffix}", SUM)

    def _linear(self, step: Step) -> Expression:
        index = self.names.indices.get(step.node.id, "")
        inner = self._data(step)
        if step.node.kind != "module":
            return self.values.weights.product(step, inner, index)
        layer = self.values.weights.layer(step.node, index)
        maths = layer.maths(inner.within(PRODUCT), index, sizes=False)
        return Expression(maths, SUM if layer.bias else PRODUCT)

    def _data(self, step: Step) -> Expression:
        """Return what a step takes beside its parameters."""
        found = [o for o in step.operands if o.is_tensor]
        data = next((o for o in found if not o.parameter), None)
        return self.values.of(data or next(iter(found), Operand()))

    def _embedding(self, step: Step) -> Expression:
        table = self.values.weights.table(step, self.names.indices.get(step.node.id, ""))
        found = next((o for o in step.operands if o.is_tensor and not o.parameter), Operand())
        if not found.node:
            self.legend.add("p", "rows that hang on no text: positions")
            return Expression(f"{table} [p]")
        return Expression(f"{table} [{self.values.of(found).text}]")

    def _convolution(self, step: Step) -> Expression:
        index = self.names.indices.get(step.node.id, "")
        return self.values.weights.convolution(step, self._data(step), index)

    def _activation(self, step: Step) -> Expression:
        symbol = activation(str(step.node.details.get("activation") or step.node.name))
        self.legend.add(symbol, "the activation function")
        return call(symbol, self.values.first(step).text)

    def _attention(self, step: Step) -> Expression:
        if step.node.details.get("projections"):
            self.legend.add(_ATTENTION, "attention in several heads with its own projections")
            return call(_ATTENTION, *self.values.arguments(step))
        names = ("query", "key", "value", "mask", "bias")
        query, key, value, mask, bias = (self._role(step, role) for role in names)
        roles = Roles(query, key, value, mask, bias, self.values.of)
        try:
            found = attention_of(step, roles, self.subject.architecture.flows)
        except LookupError:
            self.legend.add(_ATTENTION, "attention; what it does in between is not told apart")
            return call(_ATTENTION, *self.values.arguments(step))
        self.legend.add("M", MASK)
        if ROOT in found.text:
            size = str(step.node.details.get("head_size"))
            self.legend.add("d_k", "features of one head; its root divides the scores", size)
        self.legend.add(SOFTMAX, "over all positions that can be seen; each row sums to 1")
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
        meaning = "turns pairs of features by an angle that grows with the position"
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
        inner = inner_steps(step.node)
        return self.values.put_together(inner, inner[-1]) if inner else self._word(step)

    def _closed(self, step: Step) -> Expression:
        number = (step.node.path or "").rpartition(".")[2]
        name = _list_of(step.node) if number.isdecimal() else ""
        function = f"{quoted(name)}_{number}" if name else quoted(step.node.name)
        about = step.node.class_name or "a module of its own"
        self.legend.add(function, about, self._parameters(step.node))
        return call(function, *self.values.arguments(step))

    def _word(self, step: Step) -> Expression:
        word = step.node.operation or step.node.name
        operands = [self.values.of(each) for each in step.operands if not each.key]
        named = [(each.key, self.values.of(each).text) for each in step.operands if each.key]
        if word == "mul" and len(operands) == 2:
            self.legend.add("dot.o", "product number by number")
        return of_word(word, operands, named)

    def _parameters(self, node: Node) -> str | None:
        modules = self.subject.architecture.modules
        found = next((each for each in modules if each.path == node.path), None)
        return None if found is None else f"{found.parameters:,} parameters"


def _list_of(node: Node) -> str:
    """Return the name of the list that a numbered module is in, "" for others."""
    above = (node.path or "").split(".")[:-1]
    count = 2 if above and above[-1].isdecimal() else 1
    return ".".join(above[-count:])


def _meaning(node: Node) -> str:
    """Return what a value is, in words."""
    heads, size = node.details.get("heads"), node.details.get("head_size")
    if node.operation == "attention" and isinstance(heads, int):
        each = count_text(heads, "1 head", "{0} heads")
        told = f"{each} of {size} features" if isinstance(size, int) else each
        shared = node.details.get("key_value_heads")
        if isinstance(shared, int) and shared != heads:
            told += f" with {count_text(shared, '1 head', '{0} heads')} of keys and values"
        return f"what {told} found, each by itself, side by side"
    name = (node.path or "").rpartition(".")[2] if node.kind == "module" else node.name
    if node.operation in ("linear", "embedding", "convolution") or node.kind == "module":
        return f"what '{name}' gives"
    return _MEANINGS.get(node.operation or "", node.operation or "result")
