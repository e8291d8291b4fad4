"""Feed-forward networks: two linear layers with an activation between, or three with a gate."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from bertviewer.core.formulas.facts import drops_out
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import GELU_TANH, TOKENS, Affine, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.templates.activation import activation_term
from bertviewer.core.formulas.templates.template import Match, Template
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
_GATES = {'op("SiLU")': " (SwiGLU)", 'op("GELU")': " (GEGLU)", GELU_TANH: " (GEGLU)"}
_USES = {
    "1": "first linear layer",
    "2": "second linear layer",
    "G": "gate",
    "U": "gated layer",
    "D": "output layer",
}


@frozen
class FeedForward:
    """A feed-forward network read from the graph.

    Attributes:
        layers: the linear layers by the indices of their weights: 1 and 2, or G, U and D; only 1
            of a module that is the first half of a network.
        act: the term of the activation, which is applied to the first of them.
        stacked: how one tensor holds gate and gated layer, in words; "" if two do.
    """

    layers: Mapping[str, Affine]
    act: Term
    stacked: str = ""

    @property
    def is_gated(self) -> bool:
        """Whether the inner features are multiplied by a gate."""
        return "G" in self.layers

    @property
    def output(self) -> Affine:
        """The layer back to the width."""
        return self.layers["D" if self.is_gated else "2"]

    def hidden(self, argument: str, again: str) -> str:
        """Return the inner features; a gated network writes its argument twice."""
        index, first = next(iter(self.layers.items()))
        found = f"{self.act.symbol}({first.maths(argument, index)})"
        if not self.is_gated:
            return found
        product = self.layers["U"].maths(again, "U")
        return f"{found} dot.o {f'({product})' if self.layers['U'].bias else product}"

    def result(self, hidden: str) -> str:
        """Return the result of inner features."""
        return self.output.maths(hidden, "D" if self.is_gated else "2")

    def maths(self, argument: str) -> str:
        """Return the whole network as one expression of ``argument``."""
        hidden = self.hidden(argument, argument)
        return self.result(f"({hidden})" if self.is_gated else hidden)

    def terms(self, of: str = "the") -> tuple[Term, ...]:
        """Return the terms of the layers; ``of`` is whose they are."""
        named = [(layer, index, f"{of} {_USES[index]}") for index, layer in self.layers.items()]
        terms = [term for layer, index, use in named for term in layer.terms(use, index)]
        product = (Term("dot.o", "element-wise product"),) if self.is_gated else ()
        return (*terms, self.act, *product)


def read_feed_forward(group: Step, view: ModuleView) -> FeedForward | None:
    """Return the network that a group of ``view``'s graph is, ``None`` if it is another form."""
    inner = group.inner
    if len(inner) == 1 and inner[0].node.kind == "module":  # all of it is one module
        below = view.at(inner[0].node.path or "")
        return None if below is None else _read(below)
    linears = [step for step in inner if step.operation == "linear"]
    act = next((step for step in inner if step.operation == "activation"), None)
    layers = [layer for step in linears if (layer := view.affine_of(step)) is not None]
    if act is None or not act.tensors or not 2 <= len(layers) == len(linears) <= 3:
        return None
    term, activated = activation_term(act), act.tensors[0]
    if group.operation == "feed-forward":
        return FeedForward({"1": layers[0], "2": layers[1]}, term)
    if len(layers) == 3:
        gate, up = layers[:2] if activated.node == linears[0].node.id else layers[1::-1]
        return FeedForward({"G": gate, "U": up, "D": layers[2]}, term)
    both, size = layers[0], layers[0].outputs // 2
    half = replace(both, shape=(size, both.inputs) if both.transposed else (both.inputs, size))
    is_gate_first = any(" 0 of" in part or ", :" in part for part in activated.parts)
    one, other = ("W_G", "W_U") if is_gate_first else ("W_U", "W_G")
    name, side = linears[0].node.name, "rows" if both.transposed else "columns"
    stacked = (
        f"{name}.weight holds both: {side} 0 to {size - 1} are {one}, {side} {size} to "
        f"{2 * size - 1} are {other}"
    )
    return FeedForward({"G": half, "U": half, "D": layers[1]}, term, stacked)


def half_of_network(view: ModuleView) -> str:
    """Return which half of a network a module has, "" for neither.

    Networks in two modules, such as BERT's, have the first linear layer and the activation in
    one, and the second linear layer with residual and norm in the other.
    """
    around = view.at(view.node.parent or "")
    groups = () if around is None or around.graph is None else around.graph.of(*KINDS)
    for group in groups:
        paths = [step.node.path or "" for step in group.inner if step.operation == "linear"]
        is_own = [path.startswith(f"{view.node.path}.") for path in paths]
        if is_own and is_own[0] != is_own[-1]:
            return "first" if is_own[0] else "second"
    return ""


def _read(view: ModuleView) -> FeedForward | None:
    """Return the network that a module is and nothing else, or the first half of one."""
    steps = () if view.graph is None else view.graph.steps
    if len(steps) == 1 and steps[0].operation in KINDS:
        return read_feed_forward(steps[0], view)
    if [step.operation for step in steps] != ["linear", "activation"]:
        return None
    layer = view.affine_of(steps[0])
    if layer is None or half_of_network(view) != "first":
        return None
    return FeedForward({"1": layer}, activation_term(steps[1]))


def _network(indices: str) -> Callable[[ModuleView], Match | None]:
    """Return a function that matches networks with the layers of these indices."""

    def match(view: ModuleView) -> Match | None:
        network = _read(view)
        if network is None or "".join(network.layers) != indices:
            return None
        first = next(iter(network.layers.values()))
        hidden = network.hidden(sized("X", "S", first.inputs), "X")
        lines = [f"{sized('H', 'S', first.outputs)} = {hidden}"]
        if len(network.layers) > 1:
            lines.append(f"{sized('Y', 'S', network.output.outputs)} = {network.result('H')}")
        rows = Term("X", "input, one row per position", f"[S, {first.inputs}]")
        kind = f"A gated network{_GATES.get(network.act.symbol, '')}"
        values = {
            indices: True,
            "inputs": first.inputs,
            "inner": first.outputs,
            "kind": kind if network.is_gated else "",
            "narrow": network.is_gated and first.outputs < _USUAL_RATIO * first.inputs,
            "stacked": network.stacked,
        }
        keys = view.keys("dropout" if len(lines) > 1 else "groups of features")
        return Match(tuple(lines), (TOKENS, rows, *network.terms()), values, keys)

    return match


_NOTES = (
    ROW_WISE,
    "{kind}: W_G determines how much of each of the {inner} features of W_U passes. Where the gate "
    "is near 0, the feature is blocked.",
    Note(
        "It has three matrices where a plain network has two, so models use a smaller "
        "intermediate size to keep the parameter count.",
        "narrow",
    ),
    "The tensor {stacked}.",
    Note("The residual is added by the enclosing layer, not here.", "not 1"),
    Note(
        "Without the non-linearity in between, the two linear layers would collapse into one.", "1"
    ),
    DROPOUT,
)
_KEYS = ("width", "feed-forward", "activation")
_START = "Projects each position’s vector from {inputs} to {inner} features"
FEED_FORWARD = tuple(
    Template(role, _network(indices), title, f"{_START}{then}.", _NOTES, _KEYS, source)
    for indices, role, title, then, source in (
        (
            *("12", "feed-forward", "Feed-forward network"),
            ", applies a non-linearity and projects the result back",
            "Vaswani et al. 2017, section 3.3",
        ),
        (
            *("GUD", "feed-forward", "Gated feed-forward network"),
            ", multiplies each of them by a gate and projects the result back",
            "Vaswani et al. 2017, section 3.3; gates: Shazeer 2020",
        ),
        (
            *("1", "feed-forward, first half", "Feed-forward network, first half"),
            " and applies a non-linearity",
            "Vaswani et al. 2017, section 3.3; Devlin et al. 2019, appendix A.2",
        ),
    )
)
