"""Maximum lengths: what is truncated, counted and refused."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.sources.length_limits import LengthLimits
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.placeholder import PlaceholderTokenizer
from bertviewer.core.tokenization.sentence import EMPTY, MAX_CHARACTERS, TokenCount, check_text
from bertviewer.core.tokenization.tokenization import check_tokens, count_tokens
from bertviewer.core.util.errors import UserError
from tests.core.runs.bert_tokens import BERT, texts


class TestCut:
    """The special tokens stay, and of a pair the longer sentence gives way."""

    CONFIG = BERT | {"max_position_embeddings": 9}

    @pytest.mark.parametrize(
        ("sentence", "kept"),
        [
            (Sentence("a b c"), "[CLS] a b c [SEP]"),
            (Sentence("a b c d e f g h i"), "[CLS] a b c d e f g [SEP]"),
            (Sentence("a b c d e f g", "h i"), "[CLS] a b c d [SEP] h i [SEP]"),
            (Sentence("a", "b c d e f g h"), "[CLS] a [SEP] b c d e f [SEP]"),
            (Sentence("a b c d", "e f g h"), "[CLS] a b c [SEP] e f g [SEP]"),
            (Sentence("a b c d e", "f g h i"), "[CLS] a b c [SEP] f g h [SEP]"),
        ],
    )
    def test_what_is_kept(self, sentence: Sentence, kept: str) -> None:
        wish = replace(sentence, cut=True)
        for tokenizer in (
            PlaceholderTokenizer(self.CONFIG),
            ModelTokenizer(demo_folder(), self.CONFIG),
        ):
            assert " ".join(texts(tokenizer.tokenize(wish))) == kept
            whole = tokenizer.tokenize(sentence)
            assert texts(whole)[1] == "a"
            assert len(whole) >= len(kept.split())

    @given(
        first=st.lists(st.sampled_from(["cat", "[MASK]", "12212121", "😀", "x"]), min_size=1),
        second=st.none() | st.lists(st.sampled_from(["mat", "[SEP]", "sats"]), min_size=1),
        limit=st.integers(5, 40),
    )
    @settings(max_examples=60)
    def test_it_cuts_as_transformers_does(
        self, first: list[str], second: list[str] | None, limit: int
    ) -> None:
        text, pair = " ".join(first), None if second is None else " ".join(second)
        theirs = _demo_tokenizer()(text, pair, truncation="longest_first", max_length=limit)
        tokenizer = _limited_tokenizer(limit)
        ours = tokenizer.tokenize(Sentence(text, pair, cut=True))
        assert [token.id for token in ours] == theirs["input_ids"]
        assert [token.segment for token in ours] == theirs["token_type_ids"]
        numbers = list(dict.fromkeys(t.word for t in ours if t.word is not None))
        assert numbers == list(range(len(numbers)))

    def test_words_are_numbered_without_gaps(self) -> None:
        tokens = PlaceholderTokenizer(self.CONFIG).tokenize(
            Sentence("a b c d e f", "g h", cut=True)
        )
        assert [token.word for token in tokens] == [None, 0, 1, 2, 3, None, 4, 5, None]

    def test_encoder_and_decoder_are_cut_each(self) -> None:
        config = {"is_encoder_decoder": True, "vocab_size": 99, "max_position_embeddings": 3}
        tokenizer = PlaceholderTokenizer(config, pair_is_target=True)
        tokens = tokenizer.tokenize(Sentence("a b c d e", "f g h i", cut=True))
        assert texts(tokens) == ["a", "b", "c", "f", "g", "h"]
        check_tokens(tokens, config)

    def test_no_room_is_told(self) -> None:
        config = BERT | {"max_position_embeddings": 2}
        with pytest.raises(UserError, match="takes 2 tokens, which leaves no room"):
            PlaceholderTokenizer(config).tokenize(Sentence("a", cut=True))

    def test_a_model_without_a_limit_reads_it_all(self) -> None:
        tokenizer = PlaceholderTokenizer({"model_type": "t5", "vocab_size": 99})
        assert len(tokenizer.tokenize(Sentence("a " * 5_000, cut=True))) == 5_000

    def test_a_run_of_what_is_left(self, tiny_bert_folder: Path) -> None:
        model = open_model(parse_source(str(tiny_bert_folder)))
        run = run_sentence(model, Sentence("cat " * 500, cut=True))
        assert len(run.tokens) == 64
        assert run.tokens[-1].text == "[SEP]"
        assert run.sentence.cut


@cache
def _demo_tokenizer() -> Any:
    from bertviewer.core.building.backend import transformers

    return transformers.AutoTokenizer.from_pretrained(demo_folder())


@cache
def _limited_tokenizer(limit: int) -> ModelTokenizer:
    return ModelTokenizer(demo_folder(), {"max_position_embeddings": limit, "type_vocab_size": 2})


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (Sentence(""), EMPTY.format("sentence")),
        (Sentence(" \n\t"), EMPTY.format("sentence")),
        (Sentence("good", " "), EMPTY.format("second sentence")),
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


def test_sentence_too_long_for_the_model(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    assert len(run_sentence(model, Sentence("cat " * 62)).tokens) == 64
    with pytest.raises(UserError, match="65 tokens, and the model takes at most 64"):
        run_sentence(model, Sentence("cat " * 63))


def test_more_tokens_than_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"vocab_size": 97, "d_model": 24, "d_kv": 6, "d_ff": 40, "num_layers": 1}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "t5", **sizes, "num_heads": 3}))
    model = open_model(parse_source(str(path)))
    # Twice 3 heads x 2000² scores of 4 bytes.
    monkeypatch.setattr("bertviewer.core.util.memory.available_memory", lambda: 95_900_000)
    with pytest.raises(UserError, match=r"attention of 2,000 tokens needs 0.1 GB of memory, but"):
        run_sentence(model, Sentence("a " * 1999), random_weights=True)
    assert run_sentence(model, Sentence("a " * 1900), random_weights=True).tokens
    # The memory of an accelerator is another one; there is none of this name.
    with pytest.raises(UserError, match="its weights cannot be moved to cuda:97"):
        run_sentence(model, Sentence("a " * 1999), random_weights=True, device="cuda:97")


def test_buffers_that_are_larger_than_all_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GPT-Neo keeps a mask of all positions in each layer: 2000² bytes.
    sizes = {"vocab_size": 97, "hidden_size": 4, "num_heads": 1, "num_layers": 30}
    kinds = {"attention_types": [[["global"], 30]], "max_position_embeddings": 2000}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gpt_neo", **sizes, **kinds}))
    model = open_model(parse_source(str(path)))
    monkeypatch.setattr("bertviewer.core.util.memory.available_memory", lambda: 100_000_000)
    with pytest.raises(UserError, match=r"need 0.1 GB of memory, but only 0.1 GB are free"):
        run_sentence(model, Sentence("a"), random_weights=True)
    monkeypatch.setattr("bertviewer.core.util.memory.available_memory", lambda: 200_000_000)
    assert run_sentence(model, Sentence("a"), random_weights=True).tokens


class TestCount:
    """What is shown while typing."""

    def test_of_a_pair(self) -> None:
        tokenizer = PlaceholderTokenizer(BERT)
        count = count_tokens(tokenizer, Sentence("one two", "three"), BERT)
        assert count == TokenCount(6, 512, ())
        assert count.excess == 0

    def test_with_unknown_words(self) -> None:
        count = count_tokens(ModelTokenizer(demo_folder(), BERT), Sentence("a 😀 b 你"), BERT)
        assert count == TokenCount(6, 512, ("😀", "你"))

    def test_too_many(self) -> None:
        count = count_tokens(PlaceholderTokenizer(BERT), Sentence("word " * 600), BERT)
        assert (count.tokens, count.excess) == (602, 90)

    def test_without_a_limit(self) -> None:
        config = {"model_type": "t5", "vocab_size": 99}
        count = count_tokens(PlaceholderTokenizer(config), Sentence("word " * 600), config)
        assert count == TokenCount(600, None, ())
        assert count.excess == 0

    def test_beyond_the_length_of_training(self) -> None:
        config = {"model_type": "llama", "vocab_size": 99, "max_position_embeddings": 20}
        limits = LengthLimits(trained=20)
        count = count_tokens(
            PlaceholderTokenizer(config), Sentence("word " * 30), config, limits=lambda: limits
        )
        assert count == TokenCount(30, None, trained=20)
        assert count.is_untrained
        assert not replace(count, tokens=20).is_untrained

    def test_of_encoder_and_decoder_the_one_that_is_too_long_counts(self) -> None:
        config = {"is_encoder_decoder": True, "vocab_size": 99}
        tokenizer, limits = PlaceholderTokenizer(config, pair_is_target=True), LengthLimits(9, 2)
        for sentence in (Sentence("a b c d", "e f g"), Sentence("a", "b c d")):
            count = count_tokens(tokenizer, sentence, config, limits=lambda: limits)
            assert count == TokenCount(3, 2, is_one_of_two=True)

    def test_of_encoder_and_decoder_the_longer_text_counts(self) -> None:
        config = {"is_encoder_decoder": True, "vocab_size": 99, "max_position_embeddings": 4}
        sentence = Sentence("a b", "c d e")
        count = count_tokens(PlaceholderTokenizer(config, pair_is_target=True), sentence, config)
        assert count == TokenCount(3, 4, (), is_one_of_two=True)
        # The encoder has no room for both.
        assert count_tokens(PlaceholderTokenizer(config), sentence, config) == TokenCount(5, 4, ())

    def test_of_a_bad_text(self) -> None:
        with pytest.raises(UserError, match="is empty"):
            count_tokens(PlaceholderTokenizer(BERT), Sentence(" "), BERT)
