"""Aliases of configuration keys are those of transformers."""

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
"""Names in ``attribute_map`` that all configuration classes share, with our group of aliases."""
TYPES = (
    "bart", "bert", "bloom", "ctrl", "distilbert", "electra", "falcon", "flaubert", "fsmt", "gpt2",
    "gpt_bigcode", "gpt_neo", "gptj", "marian", "mbart", "mpt", "mt5", "openai-gpt", "opt",
    "pegasus", "prophetnet", "t5", "umt5", "xlm", "xlnet",
)  # fmt: skip


@pytest.mark.parametrize("model_type", TYPES)
def test_all_aliases_are_known(model_type: str) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    aliases = CONFIG_MAPPING[model_type].attribute_map
    # FSMT has a second vocabulary for the target.
    unknown = {
        own
        for name, own in aliases.items()
        if name in STANDARD and own not in (*CONFIG_KEYS[STANDARD[name]], "tgt_vocab_size")
    }
    assert not unknown
    assert model_type != "gpt2" or aliases["hidden_size"] == "n_embd"
