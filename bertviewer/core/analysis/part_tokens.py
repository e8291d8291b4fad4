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
    split = sum(token.segment == 0 for token in run.tokens)
    first, second = range(split), range(split, total)
    if _is_second(run, path) and not _is_from_encoder(path):
        first, second = second, first
    return next((tokens for tokens in (first, second) if len(tokens) == count), None)


def _is_second(run: ActivationRun, path: str) -> bool:
    parents = [{giver.rpartition(".")[0] for giver in givers} for givers in _givers(run)]
    own = parents[1] - parents[0] if len(parents) > 1 else set()
    return any(parent and f"{path}.".startswith(f"{parent}.") for parent in own)


def _givers(run: ActivationRun) -> list[tuple[str, ...]]:
    """Return the modules that gave the hidden states, for each stack."""
    return list(zip(*(paths for paths in run.state_paths if paths), strict=False))


def _is_from_encoder(path: str) -> bool:
    *above, name = path.split(".")
    return name in _FROM_ENCODER and not _CROSS_ATTENTIONS.isdisjoint(above)
