"""Which dimensions are tokens is told by sizes and names, and not where that is not sure."""

import pytest

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tensors.axes import token_axes
from tests.core.replay.model_runs import known, opened

TOKENS = 9
WIDTH = 24


def kinds(family: str, path: str, shape: tuple[int, ...], **more: str) -> tuple[str, str]:
    it = known(family)
    name, dtype = more.get("name", "output"), more.get("dtype", "float32")
    rows, columns = token_axes(it.run, it.model.architecture, path, name, shape, dtype)
    return rows.kind, columns.kind


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((1, TOKENS, WIDTH), "float32", ("token", "feature")),
        ((TOKENS, WIDTH), "float32", ("token", "feature")),
        ((1, 3, TOKENS, TOKENS), "float32", ("token", "token")),
        ((1, 1, TOKENS, TOKENS), "bool", ("token", "token")),
        ((1, 3, TOKENS, 8), "float32", ("token", "feature")),
        ((1, TOKENS), "int64", ("", "token")),
        ((TOKENS,), "float32", ("token", "")),
        ((1, WIDTH), "float32", ("", "feature")),
        ((1, WIDTH, TOKENS), "float32", ("feature", "token")),
        ((5, 6), "float32", ("", "")),
        ((), "float32", ("", "")),
    ],
)
def test_of_one_sentence(shape: tuple[int, ...], dtype: str, expected: tuple[str, str]) -> None:
    assert kinds("bert", "encoder.layer.0", shape, dtype=dtype) == expected


def test_as_many_tokens_as_features_are_no_columns() -> None:
    sentence = Sentence(" ".join(["cat"] * WIDTH))
    it = opened("bert", sentence=sentence)
    assert len(it.run.tokens) == WIDTH
    found = token_axes(it.run, it.model.architecture, "pooler", "output", (1, 24, 24), "float32")
    assert [axis.kind for axis in found] == ["token", "feature"]
    found = token_axes(it.run, it.model.architecture, "pooler", "output", (1, 24), "float32")
    assert found[1].kind == "feature"
    found = token_axes(it.run, it.model.architecture, "", "input_ids", (1, 24), "int64")
    assert found[1].kind == "token"


def names(sentence: Sentence, path: str, name: str, shape: tuple[int, ...]) -> list[str]:
    it = opened("t5", sentence=sentence)
    axes = token_axes(it.run, it.model.architecture, path, name, shape, "float32")
    return [" ".join(axis.names.names) for axis in axes]


SAME = Sentence("one two three four", "five six seven eight")
"""As many tokens on both sides: only names tell them apart."""
FIRST, SECOND = "one two three four </s>", "five six seven eight </s>"
CROSS = "decoder.block.0.layer.1.EncDecAttention"


@pytest.mark.parametrize(
    ("path", "name", "shape", "rows", "columns"),
    [
        ("encoder.block.0", "output.0", (1, 5, 24), FIRST, ""),
        ("decoder.block.0", "output.0", (1, 5, 24), SECOND, ""),
        ("decoder.block.0", "encoder_hidden_states", (1, 5, 24), FIRST, ""),
        (CROSS, "output.1", (1, 3, 5, 5), SECOND, FIRST),
        (CROSS, "key_value_states", (1, 5, 24), FIRST, ""),
        (f"{CROSS}.k", "output", (1, 5, 18), FIRST, ""),
        (f"{CROSS}.q", "output", (1, 5, 18), SECOND, ""),
        ("decoder.block.0.layer.0.SelfAttention", "output.1", (1, 3, 5, 5), SECOND, SECOND),
        ("", "encoder_last_hidden_state", (1, 5, 24), FIRST, ""),
        ("", "last_hidden_state", (1, 5, 24), SECOND, ""),
        ("", "decoder_input_ids", (1, 5), "", SECOND),
        ("", "input_ids", (1, 5), "", FIRST),
    ],
)
def test_of_an_encoder_and_a_decoder(
    path: str, name: str, shape: tuple[int, ...], rows: str, columns: str
) -> None:
    assert names(SAME, path, name, shape) == [rows, columns]
