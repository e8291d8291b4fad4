"""What of a model is measured, as plain data: the same for every batch and every shard."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bertviewer.core.corpus.batches import classes_of
from bertviewer.core.corpus.layouts import Layout
from bertviewer.core.util.serialization import convert


class Call(Struct, frozen=True, array_like=True):
    """A call of a module whose output is measured.

    Attributes:
        path: of the module.
        number: which of its calls in a forward pass this is.
        layout: how its output lies.
        is_target: whether its tokens are those that a decoder reads beside an encoder.
    """

    path: str
    number: int
    layout: Layout
    is_target: bool = False

    @property
    def classes(self) -> tuple[str, ...]:
        """What its rows are sorted into."""
        return classes_of(self.layout.kind, is_target=self.is_target)


class Attention(Struct, frozen=True, array_like=True):
    """A call of an attention whose shares are measured.

    Attributes:
        path: of the module.
        number: which of its calls this is.
        place: of the shares among the tensors that it gives.
        heads: how many.
        is_target: whether the tokens that ask are a decoder's beside an encoder.
        is_cross: whether they ask those of the encoder.
        axes: the axes of that tensor in the order sentences, heads, queries, keys.
        is_asked: whether the module gives its shares only if ``output_attentions`` is true.
    """

    path: str
    number: int
    place: int
    heads: int
    is_target: bool = False
    is_cross: bool = False
    axes: tuple[int, ...] = (0, 1, 2, 3)
    is_asked: bool = False


class Seen(Struct, frozen=True, array_like=True):
    """What became of a call of a module.

    Attributes:
        path: of the module.
        class_name: of the module.
        number: which of its calls this is.
        measured: the place of its tensor among those that are measured; several calls share one
            where a module hands on what another gave. ``None`` where it is left out.
        left_out: why it is.
    """

    path: str
    class_name: str
    number: int
    measured: int | None
    left_out: str = ""


class Measured(Struct, frozen=True):
    """All that is measured.

    Attributes:
        calls: whose outputs are, each tensor once.
        seen: all calls of all modules, in the order of the architecture.
        attentions: whose heads are.
        stacks: how many hidden states are looked through for outliers: those of the model, or of
            its encoder and behind these those of its decoder.
        width: features of one of them.
        state_calls: for each of them the place among ``calls`` of what gave it, or ``None``.
        hides_padding: whether what stands behind a shorter sentence changes nothing of any token;
            else only sentences of equal length are run together.
        is_eager: whether the model is run with eager attention, which shows its shares.
        no_heads: attentions whose heads are not measured: path, class and reason of each.
    """

    calls: tuple[Call, ...]
    seen: tuple[Seen, ...]
    attentions: tuple[Attention, ...]
    stacks: tuple[int, ...]
    width: int
    state_calls: tuple[int | None, ...]
    hides_padding: bool
    is_eager: bool = True
    no_heads: tuple[tuple[str, str, str], ...] = ()

    @property
    def states(self) -> int:
        """How many hidden states there are."""
        return sum(self.stacks)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it; calls and attentions are lists of their values."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Measured":
        """Return what ``to_json`` gave.

        Raises:
            ValueError: it is something else.
        """
        return convert(data, Measured)
