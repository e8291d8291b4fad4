"""Runs that no model made: quick to test charts and views with."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from bertviewer.charts.attention import RunAttention
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import (
    AttentionMaps,
    head_distances,
    head_entropies,
)
from bertviewer.core.schema.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.schema.source_info import SourceInfo
from tests.core.analysis.runs import run_of, tokens_of

NORMS = ((1.0, 1.25, 1.5), (2.0, 2.123456789, 2.5), (3.0, 3.5, 9.0))
LAYERS = 3
TEXTS = ("[CLS]", "it's", "[SEP]")


def make_run(
    texts: Sequence[str] = TEXTS, norms: Sequence[Sequence[float | None]] = NORMS
) -> ActivationRun:
    return ActivationRun(
        source=SourceInfo("preset", "x", "base", "random"),
        sentence=Sentence("it's"),
        tokenizer="stand-in",
        tokens=tuple(Token(number, text, 0) for number, text in enumerate(texts)),
        modules=(),
        token_norms=tuple(map(tuple, norms)),
        seconds_forward=0.0,
        seconds_total=0.0,
    )


def made_up(text: str, pair: str = "", seed: int = 0, size: int = 8) -> ActivationRun:
    """Return a run of these words between [CLS] and [SEP], with random hidden states.

    Tokens of the same text have the same id, whatever is around them.
    """
    first, second = ["[CLS]", *text.split(), "[SEP]"], [*pair.split(), "[SEP]"] if pair else []
    texts = [*first, *second]
    tokens = tokens_of(*texts, segments="0" * len(first) + "1" * len(second))
    tokens = [replace(token, id=sum(map(ord, token.text))) for token in tokens]
    numbers = np.random.default_rng(seed)
    states = [numbers.standard_normal((len(texts), size)) for _ in range(LAYERS + 1)]
    run = run_of(tokens, *states, pair=pair or None)
    paths = (("embeddings",), *((f"layer.{n}",) for n in range(LAYERS)))
    return replace(run, state_paths=paths)


SIX = ("[CLS]", "a", "b", "[SEP]", "x", "y")
LAYER = AttentionLayer("encoder.layer.3.attention.self", 0, 3)


def attended(
    queries: tuple[int, ...],
    keys: tuple[int, ...],
    layer: AttentionLayer = LAYER,
    segments: str = "",
) -> RunAttention:
    """Return three heads: to the first key, to the last two, and to all equally."""
    values = np.zeros((3, len(queries), len(keys)), dtype=np.float32)
    values[0, :, 0] = 1
    values[1, :, -2:] = 0.75, 0.25
    values[2] = 1 / len(keys)
    distances = head_distances(values) if queries == keys else None
    maps = AttentionMaps("x", 0, 1, values, queries, keys, head_entropies(values), distances)
    return RunAttention(run_of(tokens_of(*SIX, segments=segments)), maps, layer)
