"""Formulas of cache memory, compared with transformers' own caches."""

import json

import pytest

from bertviewer.core.schema.cost_texts import kv_cache_text
from bertviewer.report.summary import totals
from tests.kv_caches import derived, examine


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        # Grouped heads, and windows in every second layer.
        ("gemma2", "4*B*min(S, sliding_window - 1)*A_kv*K + 4*B*S*A_kv*K"),
        # The decoder's own tokens and the encoder's.
        ("t5", "2*N_d*B*S_d*A*K + 2*N_d*B*S*A*K"),
        # Keys and values compressed together.
        ("deepseek_v3", "N*B*S*(kv_lora_rank + K)"),
        # States of a fixed size and dtype.
        ("mamba", "N*B*I*conv_kernel + N*B*I*state_size"),
        # Attention in some layers, convolutions in the others.
        ("lfm2", "2*B*D*conv_L_cache + 4*B*S*A_kv*D//A"),
    ],
)
def test_the_formula_gives_the_bytes_of_a_real_cache(name: str, formula: str) -> None:
    found = examine(name)
    assert found.formula == formula
    assert found.mistakes == ()
    assert found.runs == 16


def test_an_encoder_has_no_cache() -> None:
    architecture, _ = derived("bert")
    assert architecture.kv_cache is None
    assert architecture.to_json()["kv_cache"] is None
    assert kv_cache_text(architecture, {}) == ""


def test_the_exported_cache() -> None:
    architecture, values = derived("gemma2")
    cache = architecture.kv_cache
    assert cache is not None
    data = json.loads(json.dumps(cache.to_json(values)))
    # 4 layers of 2 key/value heads of 8 features; two of them grow beyond the window.
    assert data["bytes_per_token"]["float16"] == 4 * 2 * 2 * 8 * 2
    assert data["bytes_per_token_long"]["float16"] == 2 * 2 * 2 * 8 * 2
    text = "256 bytes per token (128 once sliding windows are full), in float16"
    assert kv_cache_text(architecture, values) == text
    assert ("KV cache", text) in totals(architecture)
    assert [entry["layers"] for entry in data["layers"]] == [[0, 2], [1, 3]]
    assert data["layers"][0]["most_tokens"] == "sliding_window - 1"
    for tokens in (3, 40):
        lengths = {**values, "B": 2, "S": tokens}
        elements = eval(data["formula"], {"__builtins__": {"min": min}}, lengths)
        assert elements == cache.elements(lengths)
    assert type(cache).from_json(data) == cache


def test_a_depth_that_the_cache_does_not_follow_is_a_condition() -> None:
    windows, whole = (derived(name)[0].kv_cache for name in ("gemma2", "gpt2"))
    assert windows is not None
    assert whole is not None
    assert "N == 4" in (windows.domain or "")
    assert whole.domain is None
