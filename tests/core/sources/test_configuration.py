"""Configurations from strangers: checked before any library sees them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertviewer.core.sources.configuration import MAX_BYTES, read_configuration
from bertviewer.core.util.errors import UserError

GOOD = {
    "model_type": "bert",
    "vocab_size": 100,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


def write(folder: Path, config: Any) -> Path:
    path = folder / "config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
    return path


def test_good_configuration_comes_back_as_it_is(tmp_path: Path) -> None:
    assert read_configuration(write(tmp_path, GOOD)) == GOOD


def test_what_is_no_number_of_layers_may_be_large(tmp_path: Path) -> None:
    config = {**GOOD, "max_depth": 10_000, "kv_layers": [900, 900], "depths": [300, 700]}
    assert read_configuration(write(tmp_path, config)) == config


def test_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    assert read_configuration(write(tmp_path, "\ufeff" + json.dumps(GOOD))) == GOOD


def test_keys_that_could_run_code_are_dropped_at_every_depth(tmp_path: Path) -> None:
    evil = {
        **GOOD,
        "auto_map": {"AutoModel": "evil.py--Model"},
        "trust_remote_code": True,
        "_attn_implementation": "someone/kernel",
        "experts_implementation": "sonicmoe",
        "nested": {"auto_map": {}, "kept": [{"quantization_config": {}, "kept": 1}]},
    }
    assert read_configuration(write(tmp_path, evil)) == {
        **GOOD,
        "nested": {"kept": [{"kept": 1}]},
    }


def test_a_dtype_may_be_named_as_torch_writes_it(tmp_path: Path) -> None:
    config = {**GOOD, "torch_dtype": "torch.bfloat16", "dtype": "float16"}
    assert read_configuration(write(tmp_path, config)) == {**config, "torch_dtype": "bfloat16"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a valid JSON configuration"),
        ("{", "not a valid JSON configuration"),
        ("[" * 100_000, "not a valid JSON configuration"),
        ('{"model_type": "bert", "hidden_size": ' + "9" * 5000 + "}", "a number of 5,000 digits"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "model_type is missing"),
        ('{"model_type": 7}', "model_type is missing"),
    ],
)
def test_what_is_no_configuration(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_configuration(write(tmp_path, text))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 10**12}, "hidden_size is 1000000000000, out of bounds"),
        ({"hidden_size": 10**400}, "hidden_size is .*out of bounds"),
        ({"hidden_size": -8}, "hidden_size is -8, out of bounds"),
        ({"hidden_size": 0}, "hidden_size is 0, not a positive integer"),
        ({"hidden_size": 8.5}, "hidden_size is 8.5, not a positive integer"),
        ({"hidden_size": "8"}, "hidden_size is '8', not a positive integer"),
        ({"intermediate_size": float("nan")}, "intermediate_size is nan, which is not a size"),
        ({"intermediate_size": float("inf")}, "intermediate_size is inf, out of bounds"),
        ({"num_labels": float("inf")}, "num_labels is inf, above the limit of 100000"),
        ({"num_hidden_layers": {"__float__": "-Infinity"}}, "num_hidden_layers is -inf, out of"),
        ({"text_config": {"dtype": "nn"}}, "dtype 'nn' is unknown"),
        ({"__class__": 5}, "__class__ is a reserved Python name"),
        ({"text_config": {"__dict__": {}}}, "__dict__ is a reserved Python name"),
        ({"backbone": "local-dir:/etc"}, "backbone 'local-dir:/etc' lies in another folder"),
        ({"num_labels": 10**8}, "num_labels is 100000000, out of bounds"),
        ({"num_labels": 10**6}, "num_labels is 1000000, above the limit of 100000"),
        ({"inner_group_num": 20_000}, "inner_group_num is 20000, above the limit of 1000"),
        ({"text_config": {"hidden_size": 10**9}}, "hidden_size is 1000000000, out of bounds"),
        ({"vocab_size": 0}, "vocab_size is 0, not a positive integer"),
        ({"num_attention_heads": 0}, "at least 1 head is needed"),
        ({"num_attention_heads": None}, "at least 1 head is needed"),
        ({"num_hidden_layers": 100_000}, "above the limit of 1000"),
        ({"depth": 50_000_000}, "depth is 50000000, above the limit of 1000"),
        ({"depths": [600, 401]}, "depths is 1001, above the limit of 1000"),
        ({"vision": {"num_blocks": [[900], [200]]}}, "num_blocks is 1100, above the limit of 1000"),
        ({"thinker_layers": 1_001}, "thinker_layers is 1001, above the limit of 1000"),
        ({"hidden_size": 1_000_000}, "more than 1e[+]12 parameters"),
        ({"vocab_size": 50_000_000, "hidden_size": 30_000}, "more than 1e[+]12 parameters"),
    ],
)
def test_absurd_sizes(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write(tmp_path, {**GOOD, **change})
    with pytest.raises(UserError, match=message) as raised:
        read_configuration(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_numbers_that_json_does_not_know_are_read_as_transformers_once_wrote_them(
    tmp_path: Path,
) -> None:
    limits = {"time_step_limit": [0.0, float("inf")], "least": float("-inf")}
    assert "Infinity]" in write(tmp_path, GOOD | limits).read_text()
    assert read_configuration(write(tmp_path, GOOD | limits)) == GOOD | limits
    named = {
        "time_step_limit": [0.0, {"__float__": "Infinity"}],
        "least": {"__float__": "-Infinity"},
    }
    assert read_configuration(write(tmp_path, GOOD | named)) == GOOD | limits
    odds: tuple[Any, ...] = ([1], "12", None, {})
    for odd in odds:
        table = {"eps": {"__float__": odd}}
        assert read_configuration(write(tmp_path, GOOD | table)) == GOOD | table


def test_unreadable_and_huge_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_configuration(tmp_path / "absent.json")
    with pytest.raises(UserError, match="too large"):
        read_configuration(write(tmp_path, " " * (MAX_BYTES + 1)))
    (tmp_path / "latin.json").write_bytes(b'{"model_type": "\xff"}')
    with pytest.raises(UserError, match="not a valid JSON configuration"):
        read_configuration(tmp_path / "latin.json")


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
def test_anything_is_read_or_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = write(tmp_path, {**GOOD, **change})
    try:
        config = read_configuration(path)
    except UserError:
        return
    assert isinstance(config["model_type"], str)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    for depth in (60, 600, 200_000):
        path.write_text('{"model_type": "bert", "a": ' + "[" * depth + "]" * depth + "}")
        with pytest.raises(UserError, match="not a valid JSON configuration"):
            read_configuration(path)


def test_numbers_that_are_no_sizes_may_be_large(tmp_path: Path) -> None:
    path = write(tmp_path, {**GOOD, "rope_theta": 10**9, "eos_token_id": 10**9, "eps": 1e30})
    assert read_configuration(path)["rope_theta"] == 10**9
