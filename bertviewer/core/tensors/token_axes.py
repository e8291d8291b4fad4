"""Which dimensions of a tensor in a run are the tokens of its sentence."""

from collections.abc import Sequence

from bertviewer.core.analysis.attention_places import places_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import letter_values
from bertviewer.core.tensors.named_values import Axis
from bertviewer.core.tensors.token_index import TokenIndex

_FEATURES = Axis(kind="feature")
_SIZES_OF_TOKENS = ("B", "S", "S_d")
_OF_ENCODER = ("encoder", "key_value_states", "memory")
"""What a decoder takes of the encoder's is called so."""
_INTO_ENCODER = ("encoder", "input", "attention_mask", "head_mask")
"""What a model itself takes for its encoder, or gives of it, is called so."""
_KEYS = frozenset({"k", "v", "key", "value", "k_proj", "v_proj", "k_lin", "v_lin"})

Places = tuple[int, ...]


def token_axes(  # noqa: PLR0917
    run: ActivationRun,
    architecture: Architecture,
    path: str,
    name: str,
    shape: Sequence[int],
    dtype: str,
) -> tuple[Axis, Axis]:
    """Return what the last dimension but one, and the last one, of a tensor count.

    Sizes tell: as many as there are tokens. What may be something else of that size has no names.
    A vector is one column.

    Args:
        run: the run.
        architecture: of its model.
        path: the module that took or gave the tensor.
        name: what it is called there.
        shape: its dimensions.
        dtype: the type of its elements.
    """
    values = letter_values(architecture, run)
    widths = {size for letter, size in values.items() if letter not in _SIZES_OF_TOKENS}
    rows_of, columns_of = _sides(run, architecture, path, name)
    size = tuple(shape[1:] if len(shape) == 2 and shape[0] == 1 else shape)
    may_be_tokens = "int" in dtype or dtype == "bool" or not size or size[-1] not in widths
    if len(size) < 2:
        one = _tokens(run, rows_of, size[0]) if size and may_be_tokens else None
        found = one or (_FEATURES if size else Axis())
        return (Axis(), found) if len(shape) == 2 else (found, Axis())
    rows, columns = _tokens(run, rows_of, size[-2]), _tokens(run, columns_of, size[-1])
    if columns is None:
        return rows or Axis(), _FEATURES if rows is not None else Axis()
    if may_be_tokens:
        # Convolutions give the features first.
        return rows or (_FEATURES if size[-2] in widths else Axis()), columns
    return rows or Axis(), _FEATURES if len(size) < 4 else Axis()


def _sides(
    run: ActivationRun, architecture: Architecture, path: str, name: str
) -> tuple[tuple[Places, ...], tuple[Places, ...]]:
    """Return the tokens that rows and that columns can be, the likeliest first."""
    if not architecture.config.get("is_encoder_decoder"):
        every = (tuple(range(len(run.tokens))),)
        return every, every
    parts = path.split(".")
    source = places_of(run, "encoder", True)[0]
    target = places_of(run, "decoder", True)[0]
    if "encoder" in parts:
        return (source,), (source,)
    if "decoder" in parts:
        queries, keys, is_cross = places_of(run, path, True)
        if name.startswith(_OF_ENCODER) or (is_cross and parts[-1] in _KEYS):
            return (source, target), (source, target)
        return (queries, source), (keys, source)
    if not path:
        side = source if name.startswith(_INTO_ENCODER) else target
        return (side,), (side,)
    if len(source) != len(target):
        return (source, target), (source, target)
    # A head comes after the decoder; what both sides are given to is not known to be of one.
    activation = run.activation(path)
    is_head = activation is not None and len(activation.calls) == 1
    return ((target,), (target,)) if is_head else ((), ())


def _tokens(run: ActivationRun, sides: Sequence[Places], size: int) -> Axis | None:
    """Return the first of these sides that has so many tokens."""
    places = next((side for side in sides if len(side) == size), None)
    if not places:
        return None
    return Axis(TokenIndex([run.tokens[place].text for place in places]), "token", places)
