"""Formulas of cache memory give what transformers' caches hold."""

import json
from pathlib import Path

import pytest

import bertviewer
from bertviewer.core.schema.cost_texts import kv_cache_text
from tests.kv_caches import derived, examine, tiny_config


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        # Grouped heads, and windows in every other layer.
        ("gemma2", "4*B*min(S, sliding_window - 1)*A_kv*K + 4*B*S*A_kv*K"),
        # The decoder's own tokens and the encoder's.
        ("t5", "2*N_d*B*S_d*A*K + 2*N_d*B*S*A*K"),
        # Keys and values compressed together.
        ("deepseek_v3", "N*B*S*(kv_lora_rank + K)"),
        # States that do not grow, of a dtype of their own.
        ("mamba", "N*B*I*conv_kernel + N*B*I*state_size"),
        # Both: attention in some layers, convolutions in the others.
        ("lfm2", "2*B*D*conv_L_cache + 4*B*S*A_kv*D//A"),
    ],
)
def test_the_formula_gives_what_a_real_cache_holds(name: str, formula: str) -> None:
    found = examine(name)
    assert found.formula == formula
    assert found.mistakes == ()
    assert found.runs == 16


def test_an_encoder_has_none() -> None:
    architecture, _ = derived("bert")
    assert architecture.kv_cache is None
    assert architecture.to_json()["kv_cache"] is None
    assert kv_cache_text(architecture, {}) == ""


def test_what_is_exported() -> None:
    architecture, values = derived("gemma2")
    cache = architecture.kv_cache
    assert cache is not None
    data = json.loads(json.dumps(cache.to_json(values)))
    # 4 layers of 2 key/value heads of 8 features; two of them grow beyond the window.
    assert data["bytes_per_token"]["float16"] == 4 * 2 * 2 * 8 * 2
    assert data["bytes_per_token_long"]["float16"] == 2 * 2 * 2 * 8 * 2
    assert [entry["layers"] for entry in data["layers"]] == [[0, 2], [1, 3]]
    assert data["layers"][0]["most_tokens"] == "sliding_window - 1"
    for tokens in (3, 40):
        lengths = {**values, "B": 2, "S": tokens}
        given = eval(data["formula"], {"__builtins__": {"min": min}}, lengths)
        assert given == cache.elements(lengths)
    assert type(cache).from_json(data) == cache


def test_depths_that_the_cache_does_not_follow_are_conditions() -> None:
    architecture, _ = derived("gemma2")
    assert architecture.kv_cache is not None
    assert "N == 4" in (architecture.kv_cache.domain or "")
    whole, _ = derived("gpt2")
    assert whole.kv_cache is not None
    assert whole.kv_cache.domain is None


def test_a_summary_tells_it(tmp_path: Path) -> None:
    config = {**tiny_config("mistral"), "pad_token_id": 0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = bertviewer.open(tmp_path)
    # 4 layers of 2 key/value heads of 8 features, in two bytes each.
    line = "KV cache: 256 bytes per token (0 once sliding windows are full), in float16"
    assert line in model.summary()
    assert model.to_json()["kv_cache"]["formula"] == "2*N*B*min(S, sliding_window - 1)*A_kv*K"
