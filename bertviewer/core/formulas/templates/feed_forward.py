"""Feed-forward networks: two linear layers with an activation between, or three with a gate."""

from bertviewer.core.formulas.facts import drops_out
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import GELU_TANH, TOKENS, Affine, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.templates.activation import activation_term, operator_of
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen

KINDS = ("feed-forward", "gated feed-forward")
"""What the graph calls feed-forward networks."""
ROW_WISE = "Each position is processed independently; only attention mixes positions."
DROPOUT = Note(
    "Dropout is active only during training; in evaluation mode it has no effect and is omitted "
    "here.",
    drops_out,
)

_USUAL_RATIO = 4
"""The inner size of most plain networks as a multiple of the width (Vaswani et al. 2017, 3.3)."""
_GATE_NAMES = {'op("SiLU")': " (SwiGLU)", 'op("GELU")': " (GEGLU)", GELU_TANH: " (GEGLU)"}


@frozen
class FeedForward:
    """A feed-forward network read from the graph.

    Attributes:
        first: the layer into the inner features; of a gated network the one that is multiplied.
        second: the layer back.
        act: the activation's operator.
        act_term: its explanation.
        gate: the layer whose output the activation is applied to, ``None`` without a gate.
        stacked: the path of the layer that stores gate and first layer in one weight, if any.
        is_gate_first: whether the gate has the first rows there.
    """

    first: Affine
    second: Affine
    act: str
    act_term: Term
    gate: Affine | None = None
    stacked: str = ""
    is_gate_first: bool = True

    @property
    def _indices(self) -> tuple[str, str]:
        return ("1", "2") if self.gate is None else ("U", "D")

    def _hidden(self, argument: str, again: str) -> str:
        """Return the inner features; a gated network writes its argument twice."""
        up, _ = self._indices
        if self.gate is None:
            return f"{self.act}({self.first.maths(argument, up)})"
        product = self.first.maths(again, up)
        if self.first.bias:
            product = f"({product})"
        return f"{self.act}({self.gate.maths(argument, 'G')}) dot.o {product}"

    def maths(self, argument: str) -> str:
        """Return the whole network as one expression of ``argument``."""
        _, down = self._indices
        hidden = self._hidden(argument, argument)
        return self.second.maths(f"({hidden})" if self.gate else hidden, down)

    @property
    def lines(self) -> tuple[str, ...]:
        """The network's two lines, from X to H to Y."""
        _, down = self._indices
        return (
            f"{sized('H', 'S', self.first.outputs)} = "
            f"{self._hidden(sized('X', 'S', self.first.inputs), 'X')}",
            f"{sized('Y', 'S', self.second.outputs)} = {self.second.maths('H', down)}",
        )

    def terms(self, of: str = "") -> tuple[Term, ...]:
        """Return the terms of the layers; ``of`` is whose they are."""
        up, down = self._indices
        gated = self.gate is not None
        names = ("first linear layer", "second linear layer")
        names = ("gated layer", "output layer") if gated else names
        before = f"{of} " if of else "the "
        terms = () if self.gate is None else self.gate.terms(f"{before}gate", "G")
        terms += self.first.terms(f"{before}{names[0]}", up)
        terms += self.second.terms(f"{before}{names[1]}", down)
        terms += (self.act_term,)
        return (*terms, Term("dot.o", "element-wise product")) if gated else terms


def read_feed_forward(group: Step, view: ModuleView) -> FeedForward | None:
    """Return the network that a group of ``view``'s graph is, ``None`` if it is another form."""
    inner = group.inner
    if len(inner) == 1 and inner[0].node.kind == "module":  # all of it is one module
        below = view.at(inner[0].node.path or "")
        if below is None or below.graph is None or below.graph.only is None:
            return None
        return read_feed_forward(below.graph.only, below)
    linears = [step for step in inner if step.operation == "linear"]
    act = next((step for step in inner if step.operation == "activation"), None)
    layers = [view.affine_of(step) for step in linears]
    if act is None or None in layers or len(layers) not in (2, 3):
        return None
    found = [layer for layer in layers if layer is not None]
    operator, term = operator_of(act), activation_term(act)
    if group.operation == "feed-forward":
        return FeedForward(found[0], found[1], operator, term)
    gated = next(iter(act.tensors), None)
    if gated is None:
        return None
    if len(found) == 3:
        is_first = gated.node == linears[0].node.id
        gate, up = (found[0], found[1]) if is_first else (found[1], found[0])
        return FeedForward(up, found[2], operator, term, gate)
    both = found[0]
    shape = (both.outputs // 2, both.inputs)
    half = Affine(shape if both.transposed else shape[::-1], both.bias, both.transposed)
    is_first = any(" 0 of" in part or ", :" in part for part in gated.parts)
    stacked = linears[0].node.path or ""
    return FeedForward(half, found[1], operator, term, half, stacked, is_first)


def groups_key(layer: Affine) -> tuple[str, ...]:
    """Return the choice of keys that sets the blocks of a convolution."""
    return ("groups of features",) if layer.convolution else ()


def half_of_network(view: ModuleView) -> tuple[str, Step] | None:
    """Return which half of a network around a module its linear layer is, and the network.

    Networks in two modules, such as BERT's, have the first linear layer and the activation in
    one, and the second linear layer with residual and norm in the other.
    """
    if view.graph is None:
        return None
    linear = view.graph.sole("linear")
    if linear is None or not linear.node.path:
        return None
    layer = view.at(linear.node.path)
    for place in () if layer is None else places(layer):
        group = place.group
        if group is not None and group.operation in KINDS:
            is_last = group.inner[-1].node.path == linear.node.path
            return ("second" if is_last else "first"), group
    return None


def _whole(view: ModuleView) -> Formula | None:
    """A whole feed-forward network, without residual (Vaswani et al. 2017, section 3.3)."""
    graph = view.graph
    if graph is None or graph.only is None or graph.only.operation not in KINDS:
        return None
    network = read_feed_forward(graph.only, view)
    if network is None:
        return None
    first, gated = network.first, network.gate is not None
    return Formula(
        title="Gated feed-forward network" if gated else "Feed-forward network",
        summary=f"Projects each position’s vector from {first.inputs} to {first.outputs} "
        "features, "
        + ("multiplies each of them by a gate" if gated else "applies a non-linearity")
        + " and projects the result back.",
        maths=network.lines,
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {first.inputs}]"),
            *network.terms(),
        ),
        notes=(
            ROW_WISE,
            *(_gate_notes(network) if gated else ()),
            "The residual is added by the enclosing layer, not here.",
            *((DROPOUT,) if any("drop" in name for name in view.children) else ()),
        ),
        config_keys=view.keys("width", "feed-forward", "activation", "dropout"),
        source="Vaswani et al. 2017, section 3.3" + ("; gates: Shazeer 2020" if gated else ""),
    )


def _gate_notes(network: FeedForward) -> tuple[str, ...]:
    rows = network.first.outputs
    notes = [
        f"A gated network{_GATE_NAMES.get(network.act, '')}: W_G determines how much of each of "
        f"the {rows} features of W_U passes. Where the gate is near 0, the feature is blocked."
    ]
    if rows < _USUAL_RATIO * network.first.inputs:
        notes.append(
            "It has three matrices where a plain network has two, so models use a smaller "
            "intermediate size to keep the parameter count."
        )
    if network.stacked:
        name = network.stacked.rpartition(".")[2]
        one, other = ("W_G", "W_U") if network.is_gate_first else ("W_U", "W_G")
        side = "rows" if network.first.transposed else "columns"
        notes.append(
            f"The tensor {name}.weight holds both: {side} 0 to {rows - 1} are {one}, "
            f"{side} {rows} to {2 * rows - 1} are {other}."
        )
    return tuple(notes)


def _first_half(view: ModuleView) -> Formula | None:
    """First half of a feed-forward network (Vaswani et al. 2017, section 3.3)."""
    graph = view.graph
    if graph is None or [step.operation for step in graph.steps] != ["linear", "activation"]:
        return None
    half = half_of_network(view)
    dense = view.affine_of(graph.steps[0])
    if half is None or half[0] != "first" or dense is None:
        return None
    act = operator_of(graph.steps[1])
    return Formula(
        title="Feed-forward network, first half",
        summary=f"Projects each position’s vector from {dense.inputs} to {dense.outputs} features "
        "and applies a non-linearity.",
        maths=(
            f"{sized('H', 'S', dense.outputs)} = {act}("
            f"{dense.maths(sized('X', 'S', dense.inputs), '1')})",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {dense.inputs}]"),
            *dense.terms("the first linear layer", "1"),
            activation_term(graph.steps[1]),
        ),
        notes=(
            ROW_WISE,
            "Without the non-linearity in between, the two linear layers would collapse into one.",
        ),
        config_keys=view.keys("width", "feed-forward", *groups_key(dense), "activation"),
        source="Vaswani et al. 2017, section 3.3; Devlin et al. 2019, appendix A.2",
    )


FEED_FORWARD = (
    Template("feed-forward", _whole),
    Template("feed-forward, first half", _first_half),
)
