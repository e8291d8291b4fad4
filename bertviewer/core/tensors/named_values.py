"""Values with what their rows and columns stand for: all that the views of a tensor need."""

from collections.abc import Mapping

from msgspec import Struct, field

from bertviewer.core.tensors.difference import Worst
from bertviewer.core.tensors.token_index import TokenIndex
from bertviewer.core.tensors.values import TensorValues

NO_TOKENS = TokenIndex(())


class Axis(Struct, frozen=True, eq=False):
    """What a dimension of a tensor counts.

    Attributes:
        names: a name for each index, or none.
        kind: "token" or "feature", "" where that is not known.
        places: the run's tokens that the indices are, where they are tokens of a run.
    """

    names: TokenIndex = NO_TOKENS
    kind: str = ""
    places: tuple[int, ...] = ()


class NamedValues(Struct, frozen=True, eq=False):
    """A tensor's values, and what is known of them.

    Attributes:
        values: where they are.
        axes: the last dimension but one and the last one; of a vector its one comes first.
        metadata: what a file says of them.
        beside: others of the same shape by name, to be read element by element with these.
        worst: the element that a check is about, where these are what it compared.
    """

    values: TensorValues
    axes: tuple[Axis, Axis] = (Axis(), Axis())
    metadata: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, TensorValues] = field(default_factory=dict)
    worst: Worst | None = None
