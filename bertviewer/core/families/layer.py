"""How a layer is made: its sub-layers in order, each with its norm and with what it is given."""

from typing import Literal

from bertviewer.core.frozen import frozen


@frozen
class Network:
    """The modules of a feed-forward network by their names: second(act(first(X))).

    With a ``gate`` it is second(act(gate(X)) · first(X)) (Shazeer 2020).
    """

    first: str
    act: str
    second: str
    gate: str = ""


@frozen
class Halves:
    """A network in two modules: dense layer and activation; dense layer, residual and norm."""

    first: str
    second: str


@frozen
class SubLayer:
    """An attention with the norm and the residual around it; paths are from the layer on.

    Attributes:
        path: the attention.
        norm: its norm.
        given: what the attention takes beside X, by the names that it has there and in the layer:
            ``attn_mask=src_mask`` where they differ, ``key=`` for what the sub-layer itself reads.
        block: a module that holds attention, residual and norm and is given all that in the
            attention's place; empty where the layer itself adds, and calls the norm.
        add: the module of a block that adds and normalises, where there is one.
        source: which of the layer's arguments holds an encoder's states; empty for self-attention.
            A layer without the module, or without these states, does without the sub-layer.
        is_optional: whether a layer that has the module may be called without those states.
    """

    path: str
    norm: str
    given: tuple[str, ...] = ()
    block: str = ""
    add: str = ""
    source: str = ""
    is_optional: bool = True

    @property
    def arguments(self) -> dict[str, str]:
        """What the attention takes by name, each with the layer's name for it, empty for X."""
        parts = (each.partition("=") for each in self.given)
        return {name: own if sign else name for name, sign, own in parts}


@frozen
class Layer:
    """Attention, attention to an encoder where there is one, and a feed-forward network.

    Attributes:
        takes: what the layer takes, in order; the first is the hidden state.
        attention: the self-attention.
        network: the path of the feed-forward network, or its modules in the layer itself.
        network_norm: the path of the network's norm.
        cross: the cross-attention.
        norms: whether the norms stand before the sub-layers or after the residuals; "chosen" is by
            the module's attribute ``norm_first``.
        gives: the hidden state, or a tuple of it alone, or of it and each attention's weights.
    """

    takes: tuple[str, ...]
    attention: SubLayer
    network: str | Network | Halves
    network_norm: str
    cross: SubLayer | None = None
    norms: Literal["before", "after", "chosen"] = "after"
    gives: Literal["state", "tuple", "weights"] = "state"
