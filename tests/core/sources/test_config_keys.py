"""Aliases of configuration keys, compared with transformers' own."""

import pytest

from bertviewer.core.sources.config_keys import CONFIG_KEYS

STANDARD = {
    "vocab_size": "vocabulary",
    "hidden_size": "width",
    "max_position_embeddings": "positions",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "num_key_value_heads": "key/value heads",
    "head_dim": "head size",
    "intermediate_size": "feed-forward",
}
"""Names in ``attribute_map`` that all configuration classes share, and what they control here."""

TYPES = (
    "bart", "bert", "bloom", "ctrl", "distilbert", "electra", "falcon", "flaubert", "fsmt", "gpt2",
    "gpt_bigcode", "gpt_neo", "gptj", "marian", "mbart", "mpt", "mt5", "openai-gpt", "opt",
    "pegasus", "prophetnet", "t5", "umt5", "xlm", "xlnet",
)  # fmt: skip
OTHER_TABLES = {("fsmt", "tgt_vocab_size")}
"""FSMT has one vocabulary for the source and one for the target."""


@pytest.mark.parametrize("kind", TYPES)
def test_all_aliases_of_transformers_are_known(kind: str) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    aliases = CONFIG_MAPPING[kind].attribute_map
    compared = {
        own: STANDARD[name]
        for name, own in aliases.items()
        if name in STANDARD and (kind, own) not in OTHER_TABLES
    }
    assert {own for own, use in compared.items() if own not in CONFIG_KEYS[use]} == set()


def test_aliases_are_compared() -> None:
    from transformers import GPT2Config

    assert GPT2Config.attribute_map["hidden_size"] == "n_embd"
    assert "n_embd" in CONFIG_KEYS["width"]
