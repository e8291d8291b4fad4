"""Untrusted configurations are validated before any library reads them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertviewer.core.sources.configuration import MAX_BYTES, read_configuration
from bertviewer.core.util.errors import UserError
from tests.tools.refusals import refusals

GOOD = {
    "model_type": "bert",
    "vocab_size": 100,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


def read(folder: Path, config: Any) -> dict[str, Any]:
    """Write a configuration, as JSON unless it is text or bytes, and read it."""
    path = folder / "config.json"
    text = config if isinstance(config, str | bytes) else json.dumps(config)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return read_configuration(path)


NOT_FLOATS: tuple[Any, ...] = ([1], "12", None, {})


@pytest.mark.parametrize(
    "config",
    [
        GOOD,
        # Not numbers of layers, and not sizes.
        {**GOOD, "max_depth": 10_000, "kv_layers": [900, 900], "depths": [300, 700]},
        {**GOOD, "rope_theta": 10**9, "eos_token_id": 10**9, "eps": 1e30},
        # Only a special float has this form.
        *({**GOOD, "eps": {"__float__": value}} for value in NOT_FLOATS),
    ],
)
def test_a_valid_configuration_is_unchanged(tmp_path: Path, config: dict[str, Any]) -> None:
    assert read(tmp_path, config) == config
    assert read(tmp_path, "\ufeff" + json.dumps(config)) == config


def test_keys_that_could_run_code_are_removed(tmp_path: Path) -> None:
    malicious = {
        **GOOD,
        "auto_map": {"AutoModel": "evil.py--Model"},
        "trust_remote_code": True,
        "_attn_implementation": "someone/kernel",
        "experts_implementation": "sonicmoe",
        "nested": {"auto_map": {}, "kept": [{"quantization_config": {}, "kept": 1}]},
    }
    assert read(tmp_path, malicious) == {**GOOD, "nested": {"kept": [{"kept": 1}]}}


def test_torchs_names_of_dtypes_are_shortened(tmp_path: Path) -> None:
    config = {**GOOD, "torch_dtype": "torch.bfloat16", "dtype": "float16"}
    assert read(tmp_path, config) == {**config, "torch_dtype": "bfloat16"}


def test_special_floats_are_read_in_both_notations_of_transformers(tmp_path: Path) -> None:
    floats = {"time_step_limit": [0.0, float("inf")], "least": float("-inf")}
    assert read(tmp_path, GOOD | floats) == GOOD | floats
    objects = {
        "time_step_limit": [0.0, {"__float__": "Infinity"}],
        "least": {"__float__": "-Infinity"},
    }
    assert read(tmp_path, GOOD | objects) == GOOD | floats


INVALID_CHANGES: tuple[dict[str, Any], ...] = (
    {"hidden_size": 10**12},
    {"hidden_size": -8},
    {"hidden_size": 0},
    {"hidden_size": 8.5},
    {"hidden_size": "8"},
    {"vocab_size": 0},
    {"intermediate_size": float("nan")},
    {"intermediate_size": float("inf")},
    {"num_hidden_layers": {"__float__": "-Infinity"}},
    {"num_labels": float("inf")},
    {"num_labels": 10**8},
    {"num_labels": 10**6},
    {"num_attention_heads": 0},
    {"num_attention_heads": None},
    {"text_config": {"hidden_size": 10**9}},
    {"text_config": {"dtype": "nn"}},
    {"text_config": {"__dict__": {}}},
    {"__class__": 5},
    {"backbone": "local-dir:/etc"},
    # Numbers of layers.
    {"num_hidden_layers": 100_000},
    {"inner_group_num": 20_000},
    {"thinker_layers": 1_001},
    {"depth": 50_000_000},
    {"depths": [600, 401]},
    {"vision": {"num_blocks": [[900], [200]]}},
    # More than 10^12 parameters.
    {"hidden_size": 1_000_000},
    {"vocab_size": 50_000_000, "hidden_size": 30_000},
)
INVALID: dict[str, Any] = {
    "empty": "",
    "truncated": "{",
    "not UTF-8": b'{"model_type": "\xff"}',
    "an integer of 5,000 digits": '{"model_type": "bert", "hidden_size": ' + "9" * 5000 + "}",
    **{f"nested {d:,} times": '{"a": ' + "[" * d + "]" * d + "}" for d in (60, 600, 200_000)},
    "a list": [1, 2],
    "no type": {},
    "a number as the type": {"model_type": 7},
    "too large": " " * (MAX_BYTES + 1),
    **{str(change): {**GOOD, **change} for change in INVALID_CHANGES},
    "a hidden_size of 400 digits": {**GOOD, "hidden_size": 10**400},
}


def test_invalid_configurations_are_refused(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    text = refusals(lambda config: read(tmp_path, config), INVALID, tmp_path)
    golden("refusals/configurations.txt", text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from([*GOOD, "intermediate_size", "n_head", "head_dim", "id2label"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(change=st.dictionaries(KEYS | st.text(max_size=12), VALUES, max_size=5))
def test_any_configuration_is_read_or_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    try:
        config = read(tmp_path, {**GOOD, **change})
    except UserError:
        return
    assert isinstance(config["model_type"], str)
