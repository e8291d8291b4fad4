"""The part of a model that each module belongs to."""

import pytest

from bertviewer.charts.parts import part_of, parts_of
from bertviewer.charts.theme import Part
from tests.core.opened import derived


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        (
            "bert-base-uncased",
            {
                "": "plain",
                "embeddings": "embeddings",
                "embeddings.word_embeddings": "embeddings",
                "embeddings.LayerNorm": "norm",
                "encoder": "plain",
                "encoder.layer.3": "plain",
                "encoder.layer.3.attention": "attention",
                "encoder.layer.3.attention.self.query": "attention",
                "encoder.layer.3.attention.output.dense": "attention",
                "encoder.layer.3.attention.output.LayerNorm": "norm",
                "encoder.layer.3.intermediate.dense": "feed-forward",
                "encoder.layer.3.output.dense": "feed-forward",
                "pooler.dense": "head",
            },
        ),
        (
            "gpt2",
            {
                "wte": "embeddings",
                "h.0": "plain",
                "h.0.ln_1": "norm",
                "h.0.attn.c_proj": "attention",
                "h.0.mlp.c_proj": "feed-forward",
                "ln_f": "norm",
            },
        ),
        (
            "transformer-base",
            {
                "transformer.encoder.layers.0.self_attn": "attention",
                "transformer.encoder.layers.0.linear1": "feed-forward",
                "transformer.decoder.layers.5.linear2": "feed-forward",
            },
        ),
    ],
)
def test_parts_of_modules(model: str, parts: dict[str, Part]) -> None:
    found = parts_of(derived(model).modules)
    assert {path: found[path] for path in parts} == parts


@pytest.mark.parametrize(
    ("place", "part"),
    [
        # Unknown classes.
        (("self_attn", "NewAttention", "", "NewDecoderLayer", "plain"), "attention"),
        (("post_attention_layernorm", "NewRMSNorm", "", "NewDecoderLayer", "plain"), "norm"),
        (("block_sparse_moe", "NewBlock", "", "NewDecoderLayer", "plain"), "feed-forward"),
        (("layers", "Qwen2MoeDecoderLayer", "", "ModuleList", "plain"), "plain"),
        (("rotary_emb", "NewRotaryEmbedding", "", "NewModel", "plain"), "attention"),
        (("wte", "Embedding", "embedding", "NewModel", "plain"), "embeddings"),
        (("score", "Linear", "linear", "NewForSequenceClassification", "plain"), "head"),
        (("model", "NewModel", "", "NewForSequenceClassification", "plain"), "plain"),
        # The part of the parent counts more than the name.
        (("relative_bias", "Embedding", "embedding", "T5Attention", "attention"), "attention"),
        (("embedding_norm", "LayerNorm", "layer norm", "NewMLP", "feed-forward"), "norm"),
        (("intermediate", "Linear", "linear", "NewAttention", "attention"), "attention"),
        (("", "NewAttentionModel", "", "", "plain"), "plain"),
    ],
)
def test_parts_by_names(place: tuple[str, str, str, str, Part], part: Part) -> None:
    """``place`` is name, class, role, class of the parent and its part."""
    assert part_of(*place) == part
