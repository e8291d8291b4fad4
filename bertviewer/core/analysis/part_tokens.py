"""Which tokens the rows of a module's output [1, S, D] stand for, and the sums of each one's."""

import math

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.row_statistics import measure_rows
from bertviewer.core.schema.token_statistics import TokenStatistics
from bertviewer.core.sources.family_names import KEYS_AND_VALUES, is_cross_attention


def tokens_of_rows(run: ActivationRun, path: str, count: int) -> range | None:
    """Return the tokens of a module's ``count`` rows, ``None`` where the rows are no tokens.

    A run of an encoder-decoder has the encoder's tokens first and the decoder's behind them, and a
    module sees either. The keys and values of a decoder's cross-attention are the encoder's.
    SqueezeBERT's layers give [1, D, S]: their rows are features, however many there are.
    """
    total = len(run.tokens)
    if count == total:
        return None if _is_turned(run, path) else range(total)
    givers = list(zip(*(paths for paths in run.state_paths if paths), strict=False))
    if len(givers) != 2:
        return None
    split = sum(token.segment == 0 for token in run.tokens)
    encoder, decoder = range(split), range(split, total)
    is_of_decoder = _is_beside(path, givers[1], givers[0]) and not _is_from_encoder(path)
    likely = (decoder, encoder) if is_of_decoder else (encoder, decoder)
    return next((tokens for tokens in likely if len(tokens) == count), None)


def state_statistics(run: ActivationRun, path: str) -> tuple[TokenStatistics, ...] | None:
    """Return the sums of a module's output, call by call, if all its calls gave hidden states.

    They are what a replay would measure, without one.
    ``None`` stands for any other module: GPT-2's last layer, whose state is the norm's behind it.
    """
    activation = run.activation(path)
    given = [n for n, paths in enumerate(run.state_paths) if path in paths]
    if activation is None or activation.token_norms is None or not run.hidden_states:
        return None
    tokens = tokens_of_rows(run, path, len(activation.token_norms))
    if tokens is None or len(given) != len(activation.calls):
        return None
    states = (run.hidden_states[n][tokens.start : tokens.stop] for n in given)
    return tuple(measure_rows(state)[1] for state in states)


def _is_turned(run: ActivationRun, path: str) -> bool:
    """Return whether a module is, or lies in, a layer that gave its state with the axes turned.

    Only where there are as many features as tokens is that not told by their number.
    """
    own = run.activation(path)
    if own is None or own.output_shape[-2:] != (len(run.tokens),) * 2:
        return False
    for state in reversed(range(len(run.state_paths))):
        for giver in run.state_paths[state]:
            if giver and f"{path}.".startswith(f"{giver}."):
                return not _gave_tokens(run, giver, state)
    return False


def _gave_tokens(run: ActivationRun, giver: str, state: int) -> bool:
    """Return whether the rows of a layer's last output are those of the hidden state."""
    layer = run.activation(giver)
    given = None if layer is None else layer.token_norms
    norms = run.token_norms[state]
    if given is None or len(given) != len(norms):
        return False
    pairs = zip(given.tolist(), norms, strict=True)
    return all(one is None or math.isclose(own, one, rel_tol=1e-3) for own, one in pairs)


def _is_beside(path: str, layers: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return whether a module lies where these layers do, and not where others do as well."""
    parents, shared = ({layer.rpartition(".")[0] for layer in some} for some in (layers, others))
    return any(f"{path}.".startswith(f"{parent}.") for parent in parents - shared)


def _is_from_encoder(path: str) -> bool:
    return path.rpartition(".")[2] in KEYS_AND_VALUES and is_cross_attention(path)
