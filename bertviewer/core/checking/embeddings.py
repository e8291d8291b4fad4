"""Modules that turn token ids into vectors, and what gives positions."""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError


def summed(
    module: Evaluator, words: Tensor, token_type_ids: Tensor | None, position_ids: Tensor | None
) -> Tensor:
    """Return the vectors of words [B, S, D] with segments and positions, normalised."""
    x = words
    if module.has("token_type_embeddings"):
        if token_type_ids is None:
            token_type_ids = torch.zeros(x.shape[:-1], dtype=torch.long)
        x = x + module.below("token_type_embeddings")(token_type_ids)
    if module.has("position_embeddings"):
        x = x + module.below("position_embeddings")(position_ids)
    return module.below("LayerNorm")(module.round(x))


def bert(
    module: Evaluator,
    input_ids: Given = None,
    token_type_ids: Given = None,
    position_ids: Given = None,
    inputs_embeds: Given = None,
    past_key_values_length: int = 0,
) -> Tensor:
    """BERT and its kin: positions count from 0, or after the padding row that the table has.

    RoFormer has no table of positions; BigBird may multiply words by the root of the width.
    """
    x = module.below("word_embeddings")(input_ids) if inputs_embeds is None else inputs_embeds
    if module.attribute("rescale_embeddings"):
        x = module.round(x * x.shape[-1] ** 0.5)
    if position_ids is None and module.has("position_embeddings"):
        start, length = past_key_values_length, x.shape[1]
        padding = module.below("position_embeddings").attribute("padding_idx")
        if padding is None:
            position_ids = torch.arange(start, start + length)[None]
        else:
            position_ids = counted_from_padding(int(padding), input_ids, length, start)
    return summed(module, x, token_type_ids, position_ids)


def counted_from_padding(
    padding: int, input_ids: Tensor | None, length: int, before: int = 0
) -> Tensor:
    """Return positions that count from the row after padding's; padding tokens take that row."""
    if input_ids is None:
        return torch.arange(padding + 1, padding + 1 + length)[None]
    real = (input_ids != padding).long()
    return (real.cumsum(1) + before) * real + padding


def distilbert(
    module: Evaluator,
    input_ids: Tensor | None,
    inputs_embeds: Given = None,
    position_ids: Given = None,
) -> Tensor:
    """DistilBERT: no segments."""
    return bert(module, input_ids, position_ids=position_ids, inputs_embeds=inputs_embeds)


def rotation(
    module: Evaluator, x: Tensor, position_ids: Tensor, layer_type: str | None = None
) -> tuple[Tensor, Tensor]:
    """Cosines and sines of position times frequency (Su et al. 2021, section 3.2.2): [B, S, d].

    ModernBERT's windowed layers have a base of their own; ESM's configuration has it alone.
    """
    rope = module.config.get("rope_parameters") or {
        "rope_theta": module.config.get("rope_theta", 10_000.0)
    }
    rope = rope if layer_type is None else rope[layer_type]
    if rope.get("rope_type", "default") != "default":
        raise NoRecomputationError(
            f"the recomputation does not cover {rope['rope_type']!r} positions"
        )
    base = float(rope.get("rope_theta", 10_000.0))
    heads = int(module.setting_value("num_attention_heads"))
    size = int(module.config.get("head_dim") or module.setting_value("hidden_size") // heads)
    steps = torch.arange(0, size, 2, dtype=x.dtype) / size
    turns = position_ids[..., None].to(x.dtype) * base**-steps
    turns = torch.cat((turns, turns), dim=-1)
    return turns.cos(), turns.sin()


def sinusoids(length: int, width: int, dtype: torch.dtype) -> Tensor:
    """Return the fixed position encodings [S, D] (Vaswani et al. 2017, section 3.5)."""
    position = torch.arange(length, dtype=dtype)[:, None]
    feature = torch.arange(width)
    angles = position / 10_000.0 ** ((feature - feature % 2).to(dtype) / width)
    return torch.where(feature % 2 == 0, angles.sin(), angles.cos())


def sum_of_embeddings(
    module: Evaluator, words: str, places: str, input_ids: Tensor | None, **given: Any
) -> Tensor:
    """Return words plus positions, as GPT-2 adds them in the model itself."""
    embeds = given.get("inputs_embeds")
    x = module.below(words)(input_ids) if embeds is None else embeds
    positions = given.get("position_ids")
    if positions is None:
        positions = torch.arange(x.shape[1])[None]
    x = x + module.below(places)(positions)
    if given.get("token_type_ids") is not None:
        x = x + module.below(words)(given["token_type_ids"])
    return module.round(x)
