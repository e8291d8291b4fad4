"""Feed-forward networks: two linear layers with a bend in between, or three with a gate."""

from bertviewer.core.families.layer import Network
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.activations import operator_of
from bertviewer.core.formulas.blocks import DROPOUT, ROW_WISE, activation_terms
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import GELU_TANH, TOKENS, Affine, sized
from bertviewer.core.frozen import frozen

PLAIN_WIDENING = 4
"""How many times wider than the model most plain networks are in between (Vaswani et al. 2017)."""
_GATED_NAMES = {'op("SiLU")': " (SwiGLU)", 'op("GELU")': " (GEGLU)", GELU_TANH: " (GEGLU)"}


@frozen
class FeedForward:
    """The parts of a feed-forward network; ``gate`` is the layer whose output is bent, if any."""

    first: Affine
    second: Affine
    act: str
    gate: Affine | None = None

    @property
    def _indices(self) -> tuple[str, str]:
        return ("1", "2") if self.gate is None else ("U", "D")

    def hidden(self, argument: str, again: str) -> str:
        """Return the maths of the wide vectors in the middle.

        A gate writes its argument twice: the second time it is ``again``, without sizes.
        """
        up, _ = self._indices
        if self.gate is None:
            return f"{self.act}({self.first.maths(argument, up)})"
        product = self.first.maths(again, up)
        if self.first.bias:
            product = f"({product})"
        return f"{self.act}({self.gate.maths(argument, 'G')}) dot.o {product}"

    def maths(self, argument: str) -> str:
        """Return the whole network in one line, from ``argument``."""
        _, down = self._indices
        hidden = self.hidden(argument, argument)
        return self.second.maths(f"({hidden})" if self.gate else hidden, down)

    @property
    def lines(self) -> tuple[str, ...]:
        """The network's two lines, from X by way of H to Y."""
        _, down = self._indices
        return (
            f"{sized('H', 'S', self.first.outputs)} = "
            f"{self.hidden(sized('X', 'S', self.first.inputs), 'X')}",
            f"{sized('Y', 'S', self.second.outputs)} = {self.second.maths('H', down)}",
        )

    def terms(self, of: str = "") -> tuple[Term, ...]:
        """Return the terms for the layers; ``of`` says whose they are."""
        up, down = self._indices
        gated = self.gate is not None
        names = ("gated layer", "output layer")
        names = names if gated else ("first linear layer", "second linear layer")
        before = f"{of} " if of else "the "
        terms = () if self.gate is None else self.gate.terms(f"{before}gate", "G")
        terms += self.first.terms(f"{before}{names[0]}", up)
        terms += self.second.terms(f"{before}{names[1]}", down)
        terms += activation_terms(self.act)
        return (*terms, Term("dot.o", "element-wise product")) if gated else terms


def read_network(view: ModuleView) -> FeedForward:
    """Return the network that a module is.

    Raises:
        LookupError: it is none that a family describes.
    """
    made = view.description
    if isinstance(made, Network):
        return network_from(view, made)
    if made is ModuleKind.MODERNBERT_FEED_FORWARD:
        return read_split_network(view)
    raise LookupError(f"{view.node.class_name} holds no known feed-forward network")


def network_from(view: ModuleView, made: Network) -> FeedForward:
    """Return the network of these children of ``view``."""
    gate = view.affine(made.gate) if made.gate else None
    act = operator_of(view, made.act) if made.act in view.children else _noted_activation(view)
    return FeedForward(view.affine(made.first), view.affine(made.second), act, gate)


def _noted_activation(view: ModuleView) -> str:
    """Return torch's activation that is a function, which a layer notes or leaves untold."""
    known = {1: "relu", 2: "gelu"}
    noted = known.get(view.integer("activation_relu_or_gelu") or 0)
    name = noted or view.config.get("activation")
    return {"relu": 'op("ReLU")', "gelu": 'op("GELU")'}.get(str(name), "phi")


def read_split_network(view: ModuleView) -> FeedForward:
    """Return ModernBERT's network: one tensor holds the gated layer's rows below the gate's.

    Its first half goes through the function and so is the gate here.
    """
    both = view.affine("Wi")
    half = Affine((both.outputs // 2, both.inputs), both.bias)
    return FeedForward(half, view.affine("Wo"), operator_of(view, "act"), half)


def feed_forward(view: ModuleView) -> Formula:
    """A whole feed-forward network, without residual (Vaswani et al. 2017, section 3.3)."""
    return _formula(view, read_network(view), ())


def split_feed_forward(view: ModuleView) -> Formula:
    """ModernBERT's gated network (Warner et al. 2024, section 2.1.1; Shazeer 2020)."""
    network = read_split_network(view)
    rows = network.first.outputs
    note = (
        f"The tensor Wi.weight holds both: rows 0 to {rows - 1} are W_G, "
        f"rows {rows} to {2 * rows - 1} are W_U."
    )
    return _formula(view, network, (note,))


def _formula(view: ModuleView, network: FeedForward, notes: tuple[str, ...]) -> Formula:
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
            *notes,
            "The residual is added by the enclosing layer, not here.",
            *((DROPOUT,) if any("drop" in name for name in view.children) else ()),
        ),
        config_keys=view.keys("width", "feed-forward", "activation", "dropout"),
        source="Vaswani et al. 2017, section 3.3" + ("; gates: Shazeer 2020" if gated else ""),
    )


def _gate_notes(network: FeedForward) -> tuple[str, ...]:
    name = _GATED_NAMES.get(network.act, "")
    return (
        f"A gated network{name}: W_G determines how much of each of the {network.first.outputs} "
        "features of W_U passes. Where the gate is near 0, the feature is blocked.",
        *(
            (
                "It has three matrices where a plain network has two, so models use a smaller "
                "intermediate size to keep the parameter count.",
            )
            if network.first.outputs < PLAIN_WIDENING * network.first.inputs
            else ()
        ),
    )
