"""Which dimensions of a run's tensors are tokens, and the search among tokens."""

import pytest

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tensors.axes import TokenIndex, token_axes, tokens_of_rows
from tests.core.replay.model_runs import Opened, known, opened

TOKENS, WIDTH = 9, 24
AS_MANY = Sentence(" ".join(["cat"] * WIDTH))
"""As many tokens as features."""


@pytest.fixture(scope="module")
def square() -> Opened:
    it = opened("bert", sentence=AS_MANY)
    assert len(it.run.tokens) == WIDTH
    return it


@pytest.fixture(scope="module")
def pair() -> Opened:
    """Return a run with as many tokens in the encoder as in the decoder: only names differ."""
    return opened("t5", sentence=Sentence("one two three four", "five six seven eight"))


def kinds(
    it: Opened, path: str, name: str, shape: tuple[int, ...], dtype: str = "float32"
) -> tuple[str, str]:
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
def test_axes_of_one_stack(shape: tuple[int, ...], dtype: str, expected: tuple[str, str]) -> None:
    assert kinds(known("bert"), "encoder.layer.0", "output", shape, dtype) == expected


def test_axes_with_as_many_tokens_as_features(square: Opened) -> None:
    assert kinds(square, "pooler", "output", (1, 24, 24)) == ("token", "feature")
    assert kinds(square, "pooler", "output", (1, 24)) == ("", "feature")
    assert kinds(square, "", "input_ids", (1, 24), "int64") == ("", "token")


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
def test_tokens_of_an_encoder_and_a_decoder(  # noqa: PLR0917
    path: str, name: str, shape: tuple[int, ...], rows: str, columns: str, pair: Opened
) -> None:
    axes = token_axes(pair.run, pair.model.architecture, path, name, shape, "float32")
    assert [" ".join(axis.names.names) for axis in axes] == [rows, columns]


def test_rows_of_one_stack_are_all_tokens(square: Opened) -> None:
    for it in (known("bert"), square):
        count = len(it.run.tokens)
        for path in ("encoder.layer.0", "encoder.layer.1.attention.self.key", "embeddings"):
            assert tokens_of_rows(it.run, path, count) == range(count)
        assert tokens_of_rows(it.run, "encoder.layer.0", 3) is None


@pytest.mark.parametrize("texts", [("the cat sat", "on"), ("the cat", "and so")])
@pytest.mark.parametrize(
    ("family", "layer", "query", "key"),
    [
        ("bart", "layers.0", "layers.1.encoder_attn.q_proj", "layers.1.encoder_attn.k_proj"),
        ("t5", "block.1", f"{CROSS[8:]}.q", f"{CROSS[8:]}.v"),
    ],
)
def test_rows_of_an_encoder_and_a_decoder(
    texts: tuple[str, str], family: str, layer: str, query: str, key: str
) -> None:
    run = opened(family, sentence=Sentence(*texts)).run
    split = sum(token.segment == 0 for token in run.tokens)
    encoder, decoder = range(split), range(split, len(run.tokens))
    assert (len(encoder) == len(decoder)) == (texts[1] == "and so")
    for path, tokens in (
        (f"encoder.{layer}", encoder),
        (f"decoder.{layer}", decoder),
        (f"decoder.{query}", decoder),
        (f"decoder.{key}", encoder),  # the decoder attends to the encoder's tokens
    ):
        activation = run.activation(path)
        assert activation is not None
        assert activation.output_shape[1] == len(tokens)
        assert tokens_of_rows(run, path, len(tokens)) == tokens, path
    assert tokens_of_rows(run, layer, 77) is None


@pytest.mark.parametrize("words", [5, 24, 40])
def test_rows_that_are_features(words: int) -> None:
    """SqueezeBERT's layers return [1, D, S], here with 24 features, or 40 in the middle."""
    sentence = Sentence(" ".join(["cat"] * words))
    run = opened("squeezebert", sentence=sentence, max_position_embeddings=50).run
    count = len(run.tokens)
    assert run.state_paths[1:] == (("encoder.layers.0",), ("encoder.layers.1",))
    for path in ("encoder.layers.0", "encoder.layers.1.attention.key"):
        activation = run.activation(path)
        assert activation is not None
        assert activation.output_shape == (1, 24, count)
        assert tokens_of_rows(run, path, 24) is None
    assert tokens_of_rows(run, "encoder.layers.0.intermediate", 40) is None
    for path in ("embeddings", "encoder", ""):
        assert tokens_of_rows(run, path, count) == range(count)


INDEX = TokenIndex(["[PAD]", "the", "The", "then", "##the", "Ġthe", "bank", "##s", "them", "the"])


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("the", 1), ("The", 2), ("##s", 7), ("Ġthe", 5)),  # the whole token
        *(("ban", 6), ("BANK", 6), ("s", 7), ("xyz", None), ("", None)),  # its beginning
    ],
)
def test_finding_a_token(text: str, number: int | None) -> None:
    assert INDEX.find(text) == number


def test_tokens_with_a_prefix_are_sorted_by_length() -> None:
    assert INDEX.starting("the", 20) == (1, 2, 4, 5, 9, 8, 3)
    assert INDEX.starting("THE", 2) == (1, 2)
    assert INDEX.starting("[p", 9) == (0,)
    assert INDEX.starting("", 9) == ()
