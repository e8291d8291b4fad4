"""Token axes of tensors, rows of module outputs, and the token index."""

import pytest

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tensors.axes import TokenIndex, token_axes, tokens_of_rows
from tests.core.formulas.formula_models import TINY
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


def test_one_stack_has_all_tokens() -> None:
    run = known("bert").run
    count = len(run.tokens)
    for path in ("encoder.layer.0", "encoder.layer.1.attention.self.key", "embeddings"):
        assert tokens_of_rows(run, path, count) == range(count)
    assert tokens_of_rows(run, "encoder.layer.0", 3) is None


@pytest.mark.parametrize("texts", [("the cat sat", "on"), ("the cat", "and so")])
@pytest.mark.parametrize(
    ("family", "paths"),
    [
        ("bart", ("layers.0", "layers.1.encoder_attn.q_proj", "layers.1.encoder_attn.k_proj")),
        (
            "t5",
            ("block.1", "block.1.layer.1.EncDecAttention.q", "block.1.layer.1.EncDecAttention.v"),
        ),
    ],
)
def test_each_stack_has_its_own(texts: tuple[str, str], family: str, paths: list[str]) -> None:
    run = opened(family, sentence=Sentence(*texts)).run
    split = sum(token.segment == 0 for token in run.tokens)
    encoder, decoder = range(split), range(split, len(run.tokens))
    assert (len(encoder) == len(decoder)) == (texts[1] == "and so")
    layer, query, key = paths
    for path, tokens in (
        (f"encoder.{layer}", encoder),
        (f"decoder.{layer}", decoder),
        (f"decoder.{query}", decoder),
        # What the decoder looks at are the encoder's tokens.
        (f"decoder.{key}", encoder),
    ):
        activation = run.activation(path)
        assert activation is not None
        assert activation.output_shape[1] == len(tokens)
        assert tokens_of_rows(run, path, len(tokens)) == tokens, path
    assert tokens_of_rows(run, layer, 77) is None


SQUEEZE = {
    **TINY["bert"],
    "hidden_size": 24,
    "embedding_size": 24,
    "num_attention_heads": 4,
    **{f"{part}_groups": 1 for part in ("q", "k", "v", "post_attention", "intermediate", "output")},
}


@pytest.mark.parametrize("words", [5, 24, 40])
def test_features_are_no_tokens_however_many_there_are(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SqueezeBERT's layers give [1, D, S], here with 24 features, or 40 in the middle.
    monkeypatch.setitem(TINY, "squeezebert", {**SQUEEZE, "max_position_embeddings": 50})
    it = opened("squeezebert", sentence=Sentence(" ".join(["cat"] * words)))
    run, count = it.run, len(it.run.tokens)
    assert run.state_paths[1:] == (("encoder.layers.0",), ("encoder.layers.1",))
    for path in ("encoder.layers.0", "encoder.layers.1.attention.key"):
        activation = run.activation(path)
        assert activation is not None
        assert activation.output_shape == (1, 24, count)
        assert tokens_of_rows(run, path, 24) is None
    assert tokens_of_rows(run, "encoder.layers.0.intermediate", 40) is None
    for path in ("embeddings", "encoder", ""):
        assert tokens_of_rows(run, path, count) == range(count)


def test_as_many_tokens_as_features_are_tokens() -> None:
    run = opened("bert", sentence=Sentence(" ".join(["cat"] * 24))).run
    assert run.modules[0].output_shape == (1, 24, 24)
    for path in ("embeddings", "encoder.layer.0", "encoder.layer.1.attention.self.key"):
        assert tokens_of_rows(run, path, 24) == range(24)


INDEX = TokenIndex(["[PAD]", "the", "The", "then", "##the", "Ġthe", "bank", "##s", "them", "the"])


def test_a_token_is_found_by_its_text() -> None:
    assert INDEX.find("the") == 1
    assert INDEX.find("The") == 2
    assert INDEX.find("##s") == 7
    assert INDEX.find("Ġthe") == 5


def test_or_by_how_it_begins() -> None:
    assert INDEX.find("ban") == 6
    assert INDEX.find("BANK") == 6
    assert INDEX.find("s") == 7
    assert INDEX.find("xyz") is None
    assert INDEX.find("") is None


def test_tokens_that_begin_alike_are_offered_the_shortest_first() -> None:
    assert INDEX.starting("the", 20) == (1, 2, 4, 5, 9, 8, 3)
    assert INDEX.starting("THE", 2) == (1, 2)
    assert INDEX.starting("[p", 9) == (0,)
    assert INDEX.starting("", 9) == ()
