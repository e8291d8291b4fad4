"""Choosing a tokenizer, the placeholder for models without one, and truncation."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bertviewer.core.building.backend import transformers
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.sources.length_limits import LengthLimits
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.placeholder import PlaceholderTokenizer
from bertviewer.core.tokenization.tokenization import find_tokenizer, reads_text
from bertviewer.core.tokenization.tokens import TokenIds, truncated_places
from tests.core.runs.bert_tokens import BERT, texts
from tests.core.tokenization.small_tokenizers import MAKERS, write_python_tokenizer, write_tokenizer


def test_the_tokenizer_of_a_folder(tiny_bert_folder: Path) -> None:
    source = parse_source(str(tiny_bert_folder))
    config = open_model(source).architecture.config
    first, second = (find_tokenizer(source, config) for _ in range(2))
    assert first is not second
    for tokenizer in (first, second):
        tokens = tokenizer.tokenize(Sentence("The cats"))
        assert texts(tokens) == ["[CLS]", "the", "cat", "##s", "[SEP]"]
        assert (tokens[0].id, tokens[-1].id) == (2, 3)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "bert", "num_hidden_layers": 1}, True),
        ({"model_type": "transformer-base", "num_encoder_layers": 1}, True),
        ({"model_type": "vit", "num_hidden_layers": 1}, False),
        ({"model_type": "wav2vec2", "num_hidden_layers": 1}, False),
    ],
)
def test_models_of_images_and_speech_read_no_text(
    config: dict[str, Any], expected: bool, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert reads_text(open_model(parse_source(str(tmp_path))).architecture) is expected


def test_the_class_of_a_cached_model_is_imported(tiny_bert_folder: Path) -> None:
    architecture = open_model(parse_source(str(tiny_bert_folder))).architecture
    # No other test has this class, so that it is not imported yet.
    module = "transformers.models.timesformer.modeling_timesformer"
    root = replace(architecture.root, class_module=module, class_name="TimesformerModel")
    assert not reads_text(replace(architecture, modules=(root, *architecture.modules[1:])))


class TestPlaceholder:
    def test_words_punctuation_and_chinese_characters_are_tokens(self) -> None:
        tokens = PlaceholderTokenizer(BERT).tokenize(Sentence("Hi, 你好 there!"))
        assert texts(tokens) == ["[CLS]", "Hi", ",", "你", "好", "there", "!", "[SEP]"]

    def test_ids_are_hashes_of_words_within_the_vocabulary(self) -> None:
        (_, token, _) = PlaceholderTokenizer(BERT).tokenize(Sentence("token"))
        assert token.id == 4384  # in every process
        for rows in (1, 2, 3, 11, 102):
            tokenizer = PlaceholderTokenizer({"model_type": "bert", "vocab_size": rows})
            tokens = tokenizer.tokenize(Sentence("a b a " + " ".join(map(str, range(200)))))
            ids = {token.text: token.id for token in tokens}
            assert all(ids[token.text] == token.id for token in tokens)
            assert all(0 <= token.id < rows for token in tokens)

    def test_a_pair(self) -> None:
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
    def test_encoder_decoders(self, family: str, alone: str, pair: str, apart: str) -> None:
        ids = {f"{name}_token_id": number for number, name in enumerate(("bos", "pad", "eos"))}
        config = {"model_type": family, "vocab_size": 99, "is_encoder_decoder": True, **ids}
        together = PlaceholderTokenizer(config)
        assert " ".join(texts(together.tokenize(Sentence("a")))) == alone
        tokens = together.tokenize(Sentence("a", "b"))
        assert " ".join(texts(tokens)) == pair
        assert {token.segment for token in tokens} == {0}
        assert tokens[-1] == Token(2, "</s>", 0, is_special=True)
        assert [together.text_of(number) for number in (0, 1, 2, 7)] == [
            "<s>", "<pad>", "</s>", "#7",
        ]  # fmt: skip
        tokens = PlaceholderTokenizer(config, pair_is_target=True).tokenize(Sentence("a", "b"))
        assert " ".join(texts(tokens)) == apart
        length = len(alone.split())
        assert [token.segment for token in tokens] == [0] * length + [1] * length

    def test_masks(self) -> None:
        tokens = PlaceholderTokenizer(BERT).tokenize(Sentence("a[MASK]b"))
        assert texts(tokens) == ["[CLS]", "a", "[MASK]", "b", "[SEP]"]
        assert tokens[2] == Token(103, "[MASK]", 0, is_special=True)
        padded = PlaceholderTokenizer({**BERT, "pad_token_id": 0})
        assert (padded.text_of(0), padded.text_of(7)) == ("[PAD]", "#7")
        without = PlaceholderTokenizer({"model_type": "gpt2", "vocab_size": 500})
        assert texts(without.tokenize(Sentence("[MASK]"))) == ["[", "MASK", "]"]


LONG, OTHER = "this is a 12212121 test of the cat and the mat", "the dog 12212121 ran home today"


class TestTruncation:
    """Long texts are truncated as by transformers, at the side that the settings have."""

    @pytest.mark.parametrize("side", ["left", "right"])
    @pytest.mark.parametrize("kind", [*MAKERS, "python"])
    def test_ids_are_those_of_transformers(self, kind: str, side: str, tmp_path: Path) -> None:
        if kind == "python":
            write_python_tokenizer(tmp_path)
        else:
            write_tokenizer(kind, tmp_path)
        path = tmp_path / "tokenizer_config.json"
        settings = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**settings, "truncation_side": side}))
        theirs: Any = transformers.AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
        limit = 0
        ours = ModelTokenizer(tmp_path, limits=lambda: LengthLimits(limit, limit))
        # Special tokens that were typed are truncated like text.
        typed = f"the cat {theirs.unk_token} {theirs.unk_token} the mat on a mat"
        for text in (LONG, typed):
            (alone,) = ours.encode_each([text])
            assert isinstance(alone, TokenIds)
            for limit in range(6, 14):
                expected = theirs(text, truncation=True, max_length=limit)["input_ids"]
                assert list(alone.cut(limit, keeps_end=ours.keeps_end).ids) == expected
                for pair in (None, OTHER, text, LONG + OTHER):
                    expected = theirs(text, pair, truncation=True, max_length=limit)["input_ids"]
                    tokens = ours.tokenize(Sentence(text, pair, cut=True))
                    assert [token.id for token in tokens] == expected, (limit, pair)
                    numbers = list(dict.fromkeys(t.word for t in tokens if t.word is not None))
                    assert numbers == list(range(len(numbers)))
                    assert all(token.word is None for token in tokens if token.sentence is None)

    def test_two_long_sentences_are_halved(self) -> None:
        sentences = [None, 0, 0, 0, 0, None, 1, 1, 1, 1, None]
        assert truncated_places(sentences, 8) == [0, 1, 2, 5, 6, 7, 8, 10]
        assert truncated_places(sentences, 8, keeps_end=True) == [0, 3, 4, 5, 7, 8, 9, 10]
