"""Text to tokens: by the model's own tokenizer, and by one that stands in for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.placeholder import PlaceholderTokenizer
from bertviewer.core.tokenization.tokenization import find_tokenizer, reads_text
from bertviewer.core.util.errors import UserError
from tests.core.runs.bert_tokens import BERT, texts


class TestModelTokenizer:
    def test_word_pieces(self) -> None:
        tokens = ModelTokenizer(demo_folder()).tokenize(
            Sentence("this is a 12212121 test sentence")
        )
        assert texts(tokens)[:2] == ["[CLS]", "this"]
        assert texts(tokens)[4:8] == ["122", "##12", "##12", "##1"]
        assert [token.id for token in tokens] == [
            101, 2023, 2003, 1037, 13092, 12521, 12521, 2487, 3231, 6251, 102,
        ]  # fmt: skip
        assert [token.word for token in tokens] == [None, 0, 1, 2, 3, 3, 3, 3, 4, 5, None]
        assert tokens[-1] == Token(102, "[SEP]", 0, is_special=True)

    def test_pair_has_two_segments(self) -> None:
        tokens = ModelTokenizer(demo_folder()).tokenize(Sentence("one", "two"))
        assert texts(tokens) == ["[CLS]", "one", "[SEP]", "two", "[SEP]"]
        assert [token.segment for token in tokens] == [0, 0, 0, 1, 1]
        assert [token.word for token in tokens] == [None, 0, None, 1, None]

    def test_what_is_special_and_what_is_unknown(self) -> None:
        tokens = ModelTokenizer(demo_folder()).tokenize(
            Sentence("[MASK] 😀, x[MASK]y [UNK]", "[SEP] [mask]")
        )
        assert [
            (token.text, token.word, token.is_special, token.is_unknown, token.written)
            for token in tokens
        ] == [
            ("[CLS]", None, True, False, ""),
            ("[MASK]", None, True, False, "[MASK]"),
            ("[UNK]", 0, False, True, "😀"),
            (",", 1, False, False, ","),
            ("x", 2, False, False, "x"),
            ("[MASK]", None, True, False, "[MASK]"),
            ("y", 3, False, False, "y"),
            ("[UNK]", None, True, False, "[UNK]"),
            ("[SEP]", None, True, False, ""),
            ("[SEP]", None, True, False, "[SEP]"),
            ("[", 4, False, False, "["),
            ("mask", 5, False, False, "mask"),
            ("]", 6, False, False, "]"),
            ("[SEP]", None, True, False, ""),
        ]

    def test_a_text_of_nothing_that_is_read(self) -> None:
        tokens = ModelTokenizer(demo_folder()).tokenize(Sentence("\x00\u200b"))
        assert texts(tokens) == ["[CLS]", "[SEP]"]

    def test_a_pair_for_an_encoder_and_a_decoder_is_read_apart(self) -> None:
        config = {"is_encoder_decoder": True}
        tokenizer = ModelTokenizer(demo_folder(), config, pair_is_target=True)
        tokens = tokenizer.tokenize(Sentence("one", "two cats"))
        assert texts(tokens) == ["[CLS]", "one", "[SEP]", "[CLS]", "two", "cats", "[SEP]"]
        assert [token.segment for token in tokens] == [0, 0, 0, 1, 1, 1, 1]
        assert [token.word for token in tokens] == [None, 0, None, None, 1, 2, None]

    def test_a_pair_for_an_encoder_alone_is_of_its_segment(self) -> None:
        config = {"is_encoder_decoder": True, "max_position_embeddings": 8}
        tokenizer = ModelTokenizer(demo_folder(), config)
        tokens = tokenizer.tokenize(Sentence("one two three four", "two cats", cut=True))
        assert " ".join(texts(tokens)) == "[CLS] one two three [SEP] two cats [SEP]"
        assert {token.segment for token in tokens} == {0}
        assert [token.word for token in tokens] == [None, 0, 1, 2, None, 3, 4, None]

    def test_a_long_text_is_no_news_for_the_terminal(
        self, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        assert len(ModelTokenizer(demo_folder()).tokenize(Sentence("cat " * 2_000))) == 2_002
        assert capfd.readouterr().err == ""
        assert caplog.text == ""

    def test_a_text_that_no_tokenizer_can_read_is_told(self) -> None:
        with pytest.raises(UserError, match="the tokenizer cannot read this text"):
            ModelTokenizer(demo_folder()).tokenize(Sentence("\udc80"))

    def test_tokenizer_of_a_folder(self, tiny_bert_folder: Path) -> None:
        tokens = (
            open_model(parse_source(str(tiny_bert_folder)))
            .tokenizer()
            .tokenize(Sentence("The cats"))
        )
        assert texts(tokens) == ["[CLS]", "the", "cat", "##s", "[SEP]"]
        assert [token.id for token in tokens][::4] == [2, 3]


class TestPlaceholder:
    def test_words_marks_and_chinese_characters(self) -> None:
        tokens = PlaceholderTokenizer(BERT).tokenize(Sentence("Hi, 你好 there!"))
        assert texts(tokens) == ["[CLS]", "Hi", ",", "你", "好", "there", "!", "[SEP]"]

    def test_equal_words_have_equal_ids_in_range(self) -> None:
        tokenizer = PlaceholderTokenizer({"model_type": "gpt2", "vocab_size": 11})
        tokens = tokenizer.tokenize(Sentence("a b a " + " ".join(map(str, range(200)))))
        assert tokens[0].id == tokens[2].id
        assert all(0 <= token.id < 11 for token in tokens)

    def test_ids_are_the_same_in_every_process(self) -> None:
        (_, token, _) = PlaceholderTokenizer(BERT).tokenize(Sentence("token"))
        assert token.id == PlaceholderTokenizer(BERT).tokenize(Sentence("token"))[1].id
        assert token.id == EXPECTED_ID_OF_TOKEN

    @pytest.mark.parametrize("rows", [1, 2, 3, 102])
    def test_tiny_vocabularies(self, rows: int) -> None:
        tokens = PlaceholderTokenizer({"model_type": "bert", "vocab_size": rows}).tokenize(
            Sentence("one two three")
        )
        assert all(0 <= token.id < rows for token in tokens)

    def test_pair(self) -> None:
        tokens = PlaceholderTokenizer(BERT).tokenize(Sentence("one", "two"))
        assert [token.segment for token in tokens] == [0, 0, 0, 1, 1]
        assert texts(tokens) == ["[CLS]", "one", "[SEP]", "two", "[SEP]"]
        assert [token.word for token in tokens] == [None, 0, None, 1, None]
        assert [token.is_special for token in tokens] == [True, False, True, False, True]

    @pytest.mark.parametrize(
        ("family", "alone", "pair", "apart"),
        [
            ("bart", "<s> a </s>", "<s> a </s> b </s>", "<s> a </s> <s> b </s>"),
            ("mbart", "a </s>", "a </s> b </s>", "a </s> b </s>"),
            ("t5", "a </s>", "a </s> b </s>", "a </s> b </s>"),
        ],
    )
    def test_encoder_decoders_read_an_end(
        self, family: str, alone: str, pair: str, apart: str
    ) -> None:
        config = {"model_type": family, "vocab_size": 99, "is_encoder_decoder": True} | {
            f"{name}_token_id": number for number, name in enumerate(("bos", "pad", "eos"))
        }
        together = PlaceholderTokenizer(config)
        assert " ".join(texts(together.tokenize(Sentence("a")))) == alone
        tokens = together.tokenize(Sentence("a", "b"))
        assert " ".join(texts(tokens)) == pair
        assert {token.segment for token in tokens} == {0}
        assert tokens[-1] == Token(2, "</s>", 0, is_special=True)
        tokens = PlaceholderTokenizer(config, pair_is_target=True).tokenize(Sentence("a", "b"))
        assert " ".join(texts(tokens)) == apart
        length = len(alone.split())
        assert [token.segment for token in tokens] == [0] * length + [1] * length
        assert [together.text_of(number) for number in (0, 1, 2, 7)] == [
            "<s>",
            "<pad>",
            "</s>",
            "#7",
        ]

    def test_a_mask_is_one_token(self) -> None:
        tokens = PlaceholderTokenizer(BERT).tokenize(Sentence("a[MASK]b"))
        assert texts(tokens) == ["[CLS]", "a", "[MASK]", "b", "[SEP]"]
        assert tokens[2] == Token(103, "[MASK]", 0, is_special=True)

    def test_a_family_without_a_mask_reads_the_letters(self) -> None:
        gpt2 = PlaceholderTokenizer({"model_type": "gpt2", "vocab_size": 500})
        assert texts(gpt2.tokenize(Sentence("[MASK]"))) == ["[", "MASK", "]"]


EXPECTED_ID_OF_TOKEN = 4384


def test_each_call_gives_a_tokenizer_of_its_own(tiny_bert_folder: Path) -> None:
    source = parse_source(str(tiny_bert_folder))
    config = open_model(source).architecture.config
    first, second = (find_tokenizer(source, config) for _ in range(2))
    assert first is not second
    assert first.tokenize(Sentence("the cats")) == second.tokenize(Sentence("the cats"))


@pytest.mark.parametrize(
    ("config", "reads"),
    [
        ({"model_type": "bert", "num_hidden_layers": 1}, True),
        ({"model_type": "transformer-base", "num_encoder_layers": 1}, True),
        ({"model_type": "vit", "num_hidden_layers": 1}, False),
        ({"model_type": "wav2vec2", "num_hidden_layers": 1}, False),
    ],
)
def test_models_that_read_no_text(config: dict[str, Any], reads: bool, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert reads_text(open_model(parse_source(str(tmp_path))).architecture) is reads
