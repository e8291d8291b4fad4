"""Words of a run: what belongs together, and how it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tokenizers.pre_tokenizers import ByteLevel

from bertviewer.core.analysis.tokens import Word, word_text, words_of
from bertviewer.core.schema.activation_run import Token
from tests.core.analysis.runs import demo_run, run_of, tokens_of


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["122", "##12", "##12", "##1"], "12212121"),
        (["bank"], "bank"),
        (["##s"], "##s"),
        (["Ġun", "aff", "ably"], "unaffably"),
        (["cafÃ©"], "café"),
        (["Ġä½ł", "å¥½"], "你好"),
        (["café"], "café"),
        (["māja"], "māja"),
        (["Ċ"], "Ċ"),
        (["Ġ"], "Ġ"),
        (["▁re", "view"], "review"),
        (["▁"], "▁"),
        (["re", "view</w>"], "review"),
        (["re@@", "view"], "review"),
        (["@@"], "@@"),
        (["[UNK]"], "[UNK]"),
    ],
)
def test_pieces_are_joined_as_vocabularies_write_them(pieces: list[str], text: str) -> None:
    assert word_text(pieces) == text


@pytest.mark.parametrize(
    "text",
    ["a naïve café", "你好，世界", "مرحبا بالعالم", "👩‍🔬 🙂!", "Ελλάδα ¡¬®", "žluťoučký kůň"],
)
def test_letters_that_stand_for_bytes_are_read(text: str) -> None:
    for piece, (start, end) in ByteLevel().pre_tokenize_str(text):
        word = text[start:end].strip()
        assert word_text([piece]) == word
        assert word_text(list(piece)) == word
    for word in text.split():
        assert word_text([word]) == word


def test_a_decoder_that_reads_the_same_text_has_words_of_its_own() -> None:
    tokens = tokens_of("a", "b", "a", "b", words=[0, 1, 0, 1], segments="0011")
    assert [(word.text, word.segment, word.tokens) for word in words_of(run_of(tokens))] == [
        ("a", 0, (0,)),
        ("b", 0, (1,)),
        ("a", 1, (2,)),
        ("b", 1, (3,)),
    ]


def test_words_of_a_pair() -> None:
    tokens = tokens_of(
        "[CLS]", "un", "##seen", "[UNK]", "[SEP]", "a", "b", "[SEP]",
        words=[None, 0, 0, 1, None, 2, None, None],
        segments="00000111",
    )  # fmt: skip
    assert words_of(run_of(tokens, pair="text")) == (
        Word(0, 0, "unseen", (1, 2)),
        Word(1, 0, "[UNK]", (3,), is_unknown=True),
        Word(2, 1, "a", (5,)),
        Word(3, 1, "b", (6,)),
    )


def test_the_demo_puts_the_pieces_of_a_word_together() -> None:
    words = words_of(demo_run("this is a 12212121 test sentence"))
    assert [word.text for word in words] == ["this", "is", "a", "12212121", "test", "sentence"]
    assert words[3].tokens == (4, 5, 6, 7)


TOKENS = st.lists(
    st.builds(
        Token,
        id=st.integers(0, 5),
        text=st.sampled_from(["a", "##b", "Ġc", "[SEP]", "", " "]) | st.text(max_size=3),
        segment=st.integers(0, 1),
        word=st.none() | st.integers(0, 4),
        is_special=st.booleans(),
    ),
    max_size=12,
)


@given(TOKENS, st.none() | st.just("pair"))
def test_every_token_is_in_one_word_at_most(tokens: list[Token], pair: str | None) -> None:
    run = run_of(tokens, pair=pair)
    words = words_of(run)
    covered = sorted(place for word in words for place in word.tokens)
    assert len(set(covered)) == len(covered)
    assert [word.number for word in words] == list(range(len(words)))
    for word in words:
        assert len({tokens[place].word for place in word.tokens}) == 1
    for place in set(range(len(tokens))) - set(covered):
        is_plain = not any(map(str.isalpha, word_text([tokens[place].text.replace("Ġ", "")])))
        assert tokens[place].is_special or is_plain


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["he", "said", ",", "yes", "."], ["he", "said", "yes"]),
        (["don", "'", "t"], ["don", "t"]),
        (["$", "5", "€", "🙂"], ["5", "€", "🙂"]),
        (["你", "好", "，", "世", "。"], ["你", "好", "世"]),
        (['Ġ"', "Ġno", "âĢĿ", "Ċ", "Ġ", "▁", "!</w>"], ["no"]),
        (["3.5", "U.S.", "--"], ["3.5", "U.S."]),
    ],
)
def test_punctuation_and_space_are_no_words(texts: list[str], expected: list[str]) -> None:
    words = words_of(run_of(tokens_of(*texts)))
    assert [word.text for word in words] == expected
    assert [word.number for word in words] == list(range(len(expected)))


def test_what_the_vocabulary_lacks_is_a_word() -> None:
    (token,) = tokens_of("�")
    (word,) = words_of(run_of((replace(token, is_unknown=True),)))
    assert word.is_unknown


def test_pieces_of_nothing_but_punctuation_are_no_word() -> None:
    tokens = tokens_of("wait", ".", "##.", "##.", words=[0, 1, 1, 1])
    assert [word.tokens for word in words_of(run_of(tokens))] == [(0,)]
