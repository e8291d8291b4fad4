"""Axes of a tensor: names of indices, and which dimensions of a run's tensors are tokens."""

import math
from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct

from bertviewer.core.analysis.attention_modules import Positions, attention_tokens
from bertviewer.core.analysis.tokens import positions_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.sources.families import PROJECTIONS, reads_encoder

# Markers before a piece: of a continuation, of a preceding space.
_MARKERS = ("##", "Ġ", "▁")
_TOKEN_SIZES = ("B", "S", "S_d")
# Prefixes of inputs: of a decoder from the encoder, and of a model for its encoder.
_FROM_ENCODER = ("encoder", "key_value_states", "memory")
_FOR_ENCODER = ("encoder", "input", "attention_mask", "head_mask")


class TokenIndex:
    """Tokens by number, with a search by text and by prefix."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._numbers: dict[str, int] = {}
        keys = []
        for number, name in enumerate(self.names):
            self._numbers.setdefault(name, number)
            folded = name.casefold()
            keys.append((folded, number))
            keys += [
                (folded[len(marker) :], number)
                for marker in _MARKERS
                if name.startswith(marker) and len(name) > len(marker)
            ]
        self._keys = sorted(keys)

    def __len__(self) -> int:
        return len(self.names)

    def find(self, text: str) -> int | None:
        """Return the token with exactly this text, else the first with it as a prefix."""
        exact = self._numbers.get(text)
        return exact if exact is not None else next(iter(self.starting(text, 1)), None)

    def starting(self, text: str, most: int) -> tuple[int, ...]:
        """Return up to ``most`` tokens with a prefix, ignoring case and markers, short ones first.

        No token starts with an empty text.
        """
        folded = text.casefold()
        if not folded:
            return ()
        found: dict[int, None] = {}
        for at in range(bisect_left(self._keys, (folded, -1)), len(self._keys)):
            key, number = self._keys[at]
            if not key.startswith(folded) or len(found) == most:
                break
            found[number] = None
        return tuple(found)


NO_TOKENS = TokenIndex(())


class Axis(Struct, frozen=True, eq=False):
    """A dimension of a tensor.

    Attributes:
        names: a name for each index, or none.
        kind: "token" or "feature", "" if unknown.
        positions: the positions among the run's tokens, if the indices are tokens of a run.
    """

    names: TokenIndex = NO_TOKENS
    kind: str = ""
    positions: Positions = ()

    def name(self, index: int) -> str:
        """Return the name of an index, "" without one."""
        return self.names.names[index] if index < len(self.names) else ""


_FEATURES = Axis(kind="feature")


def token_axes(  # noqa: PLR0917
    run: ActivationRun,
    architecture: Architecture,
    path: str,
    name: str,
    shape: Sequence[int],
    dtype: str,
) -> tuple[Axis, Axis]:
    """Return the second last and the last axis of a tensor; a vector's axis comes first.

    An axis with as many indices as there are tokens is one of tokens, unless it could be another
    dimension of that size.

    Args:
        run: the run.
        architecture: of its model.
        path: the module that received or returned the tensor.
        name: the tensor's name there.
        shape: its dimensions.
        dtype: the type of its elements.
    """
    values = bindings(architecture, run)
    widths = {size for letter, size in values.items() if letter not in _TOKEN_SIZES}
    rows_of, columns_of = _candidates(run, architecture, path, name)
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
        # Convolutions put the features first.
        return rows or (_FEATURES if size[-2] in widths else Axis()), columns
    return rows or Axis(), _FEATURES if len(size) < 4 else Axis()


def _candidates(
    run: ActivationRun, architecture: Architecture, path: str, name: str
) -> tuple[tuple[Positions, ...], tuple[Positions, ...]]:
    """Return the tokens that rows and columns can be, the most likely first."""
    if not architecture.is_encoder_decoder:
        every = (tuple(range(len(run.tokens))),)
        return every, every
    parts = path.split(".")
    source, target = positions_of(run, 0), positions_of(run, 1)
    if "encoder" in parts:
        return (source,), (source,)
    if "decoder" in parts:
        queries, keys, is_cross = attention_tokens(run, path, True)
        is_projected = is_cross and PROJECTIONS.get(parts[-1]) in ("key", "value")
        if name.startswith(_FROM_ENCODER) or is_projected:
            return (source, target), (source, target)
        return (queries, source), (keys, source)
    if not path:
        side = source if name.startswith(_FOR_ENCODER) else target
        return (side,), (side,)
    if len(source) != len(target):
        return (source, target), (source, target)
    # A head follows the decoder; a module with two calls can belong to both.
    activation = run.activation(path)
    is_head = activation is not None and len(activation.calls) == 1
    return ((target,), (target,)) if is_head else ((), ())


def _tokens(run: ActivationRun, candidates: Sequence[Positions], size: int) -> Axis | None:
    """Return the first of the candidates with so many tokens."""
    positions = next((each for each in candidates if len(each) == size), None)
    if not positions:
        return None
    return Axis(TokenIndex([run.tokens[n].text for n in positions]), "token", positions)


def tokens_of_rows(run: ActivationRun, path: str, count: int) -> range | None:
    """Return the tokens of a module's output rows [1, S, D], ``None`` if the rows are no tokens.

    An encoder-decoder's run has the encoder's tokens first, then the decoder's; a module reads one
    of the two. Keys and values of cross-attention are the encoder's. Layers of SqueezeBERT return
    [1, D, S]: their rows are features, whatever their number.

    Args:
        run: the run.
        path: the module.
        count: its number of rows S.
    """
    total = len(run.tokens)
    if count == total:
        return None if _is_transposed(run, path) else range(total)
    stacks = list(zip(*(paths for paths in run.state_paths if paths), strict=False))
    if len(stacks) != 2:
        return None
    split = sum(token.segment == 0 for token in run.tokens)
    encoder, decoder = range(split), range(split, total)
    lists = [{layer.rpartition(".")[0] for layer in stack} for stack in stacks]
    in_decoder = any(f"{path}.".startswith(f"{parent}.") for parent in lists[1] - lists[0])
    is_target = in_decoder and not reads_encoder(path)
    likely = (decoder, encoder) if is_target else (encoder, decoder)
    return next((tokens for tokens in likely if len(tokens) == count), None)


def _is_transposed(run: ActivationRun, path: str) -> bool:
    """Return whether a module is or lies in a layer that returns its hidden state as [1, D, S].

    Only needed where there are as many features as tokens.
    """
    own = run.activation(path)
    if own is None or own.output_shape[-2:] != (len(run.tokens),) * 2:
        return False
    for state in reversed(range(len(run.state_paths))):
        for layer in run.state_paths[state]:
            if layer and f"{path}.".startswith(f"{layer}."):
                return not _has_token_rows(run, layer, state)
    return False


def _has_token_rows(run: ActivationRun, layer: str, state: int) -> bool:
    """Return whether the rows of a layer's last output have the norms of the hidden state."""
    output = run.activation(layer)
    norms, expected = None if output is None else output.token_norms, run.token_norms[state]
    if norms is None or len(norms) != len(expected):
        return False
    pairs = zip(norms.tolist(), expected, strict=True)
    return all(two is None or math.isclose(one, two, rel_tol=1e-3) for one, two in pairs)
