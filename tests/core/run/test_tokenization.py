"""Text to tokens, and what is refused before a model sees it."""

from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.configuration import position_limit
from bertviewer.core.demo import demo_folder
from bertviewer.core.errors import UserError
from bertviewer.core.loading import open_model
from bertviewer.core.run.activation_run import Sentence, Token
from bertviewer.core.run.running import run_sentence
from bertviewer.core.run.text import MAX_CHARACTERS, check_text
from bertviewer.core.run.tokenization import (
    ModelTokenizer,
    StandInTokenizer,
    check_tokens,
)
from bertviewer.core.source import parse_source

BERT = {
    "model_type": "bert",
    "vocab_size": 30522,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}


def texts(tokens: tuple[Token, ...]) -> list[str]:
    return [token.text for token in tokens]


class TestModelTokenizer:
    def test_word_pieces(self) -> None:
        tokens = ModelTokenizer(demo_folder()).tokenize(
            Sentence("this is a 12212121 test sentence")
        )
        assert texts(tokens)[:2] == ["[CLS]", "this"]
        assert texts(tokens)[4:8] == ["122", "##12", "##12", "##1"]
        assert tokens[-1] == Token(102, "[SEP]", 0)

    def test_pair_has_two_segments(self) -> None:
        tokens = ModelTokenizer(demo_folder()).tokenize(Sentence("one", "two"))
        assert texts(tokens) == ["[CLS]", "one", "[SEP]", "two", "[SEP]"]
        assert [token.segment for token in tokens] == [0, 0, 0, 1, 1]

    def test_tokenizer_of_a_folder(self, tiny_bert_folder: Path) -> None:
        tokens = (
            open_model(parse_source(str(tiny_bert_folder)))
            .tokenizer()
            .tokenize(Sentence("The cats"))
        )
        assert texts(tokens) == ["[CLS]", "the", "cat", "##s", "[SEP]"]
        assert [token.id for token in tokens][::4] == [2, 3]

    def test_broken_files_are_told(self, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_text('{"version": "1.0", "model": 7}')
        with pytest.raises(UserError, match="the tokenizer cannot be read"):
            ModelTokenizer(tmp_path)


class TestStandIn:
    def test_words_marks_and_chinese_characters(self) -> None:
        tokens = StandInTokenizer(BERT).tokenize(Sentence("Hi, 你好 there!"))
        assert texts(tokens) == ["[CLS]", "Hi", ",", "你", "好", "there", "!", "[SEP]"]

    def test_equal_words_have_equal_ids_in_range(self) -> None:
        tokenizer = StandInTokenizer({"model_type": "gpt2", "vocab_size": 11})
        tokens = tokenizer.tokenize(Sentence("a b a " + " ".join(map(str, range(200)))))
        assert tokens[0].id == tokens[2].id
        assert all(0 <= token.id < 11 for token in tokens)

    def test_ids_are_the_same_in_every_process(self) -> None:
        (_, token, _) = StandInTokenizer(BERT).tokenize(Sentence("token"))
        assert token.id == StandInTokenizer(BERT).tokenize(Sentence("token"))[1].id
        assert token.id == EXPECTED_ID_OF_TOKEN

    @pytest.mark.parametrize("rows", [1, 2, 3, 102])
    def test_tiny_vocabularies(self, rows: int) -> None:
        tokens = StandInTokenizer({"model_type": "bert", "vocab_size": rows}).tokenize(
            Sentence("one two three")
        )
        assert all(0 <= token.id < rows for token in tokens)

    def test_pair(self) -> None:
        tokens = StandInTokenizer(BERT).tokenize(Sentence("one", "two"))
        assert [token.segment for token in tokens] == [0, 0, 0, 1, 1]
        assert texts(tokens) == ["[CLS]", "one", "[SEP]", "two", "[SEP]"]


EXPECTED_ID_OF_TOKEN = 4384


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (Sentence(""), "the sentence is empty"),
        (Sentence(" \n\t"), "the sentence is empty"),
        (Sentence("good", " "), "the second sentence is empty"),
        (Sentence("x" * (MAX_CHARACTERS + 1)), "above the limit of 200,000"),
        (Sentence("lone \udc80 surrogate"), "not valid Unicode"),
    ],
)
def test_refused_texts(sentence: Sentence, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_text(sentence)


def test_too_many_tokens_and_foreign_ids() -> None:
    check_tokens((Token(5, "a", 0),) * 512, BERT)
    with pytest.raises(UserError, match="it has 513 tokens, and the model takes at most 512"):
        check_tokens((Token(5, "a", 0),) * 513, BERT)
    with pytest.raises(UserError, match="has the id 30522, but the embedding has only 30,522"):
        check_tokens((Token(30522, "a", 0),), BERT)
    with pytest.raises(UserError, match="no tokens"):
        check_tokens((), BERT)


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        (BERT, 512),
        ({"model_type": "gpt2", "n_positions": 1024}, 1024),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "t5"}, None),
    ],
)
def test_position_limit(config: dict[str, Any], limit: int | None) -> None:
    assert position_limit(config) == limit


def test_sentence_too_long_for_the_model(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    assert len(run_sentence(model, Sentence("cat " * 62)).tokens) == 64
    with pytest.raises(UserError, match="65 tokens, and the model takes at most 64"):
        run_sentence(model, Sentence("cat " * 63))


def test_roberta_runs_at_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(
        '{"model_type": "roberta", "vocab_size": 50, "hidden_size": 8, "num_hidden_layers": 1,'
        ' "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 20,'
        ' "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1}'
    )
    model = open_model(parse_source(str(path)))
    run = run_sentence(model, Sentence("a " * 16), random_weights=True)
    assert len(run.tokens) == 18
    with pytest.raises(UserError, match="too long"):
        run_sentence(model, Sentence("a " * 17), random_weights=True)
