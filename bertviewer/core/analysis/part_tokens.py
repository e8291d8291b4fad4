"""Which tokens the rows of a module's output [1, S, D] stand for."""

from bertviewer.core.run.activation_run import ActivationRun

_CROSS_ATTENTIONS = frozenset({"crossattention", "EncDecAttention", "encoder_attn"})
_FROM_ENCODER = frozenset({"key", "value", "k", "v", "k_proj", "v_proj"})


def tokens_of_rows(run: ActivationRun, path: str, count: int) -> range | None:
    """Return the tokens of a module's ``count`` rows, ``None`` where the rows are no tokens.

    A run of an encoder-decoder has the encoder's tokens first and the decoder's behind them, and a
    module sees either. The keys and values of a decoder's cross-attention are the encoder's.
    """
    total = len(run.tokens)
    if count == total:
        return range(total)
    givers = list(zip(*(paths for paths in run.state_paths if paths), strict=False))
    if len(givers) != 2:
        return None
    split = sum(token.segment == 0 for token in run.tokens)
    encoder, decoder = range(split), range(split, total)
    is_of_decoder = _is_beside(path, givers[1], givers[0]) and not _is_from_encoder(path)
    likely = (decoder, encoder) if is_of_decoder else (encoder, decoder)
    return next((tokens for tokens in likely if len(tokens) == count), None)


def _is_beside(path: str, layers: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return whether a module lies where these layers do, and not where others do as well."""
    parents, shared = ({layer.rpartition(".")[0] for layer in some} for some in (layers, others))
    return any(f"{path}.".startswith(f"{parent}.") for parent in parents - shared)


def _is_from_encoder(path: str) -> bool:
    *above, name = path.split(".")
    return name in _FROM_ENCODER and not _CROSS_ATTENTIONS.isdisjoint(above)
