"""Classes, words and alignment of tokens."""

from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tokenizers.pre_tokenizers import ByteLevel

from bertviewer.core.analysis.tokens import (
    Word,
    align,
    second_start,
    segments_of,
    text_starts,
    token_classes,
    word_text,
    words_of,
)
from bertviewer.core.schema.activation_run import Token
from tests.core.analysis.runs import demo_run, run_of, tokens_of


def classes_of(*texts: str, pair: bool = False, **more: Any) -> dict[str, tuple[str, list[int]]]:
    run = run_of(tokens_of(*texts, **more), pair="text" if pair else None)
    return {found.name: (found.label, list(found.tokens)) for found in token_classes(run)}


def test_a_pair_of_bert() -> None:
    texts = ("[CLS]", "a", "[MASK]", "[SEP]", "[UNK]", "b", "[SEP]")
    assert classes_of(*texts, segments="0000111", pair=True) == {
        "all": ("all tokens", [0, 1, 2, 3, 4, 5, 6]),
        "content": ("content", [1, 2, 4, 5]),
        "cls": ("[CLS]", [0]),
        "sep": ("[SEP]", [3, 6]),
        "mask": ("[MASK]", [2]),
        "first": ("first sentence", [1, 2]),
        "second": ("second sentence", [4, 5]),
        "unknown": ("unknown", [4]),
    }


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ["<s>", "a", "</s>"],
            {"content": ("content", [1]), "cls": ("<s>", [0]), "sep": ("</s>", [2])},
        ),
        (
            ["a", "<sep>", "<cls>"],
            {"content": ("content", [0]), "cls": ("<cls>", [2]), "sep": ("<sep>", [1])},
        ),
        (["a", "</s>"], {"content": ("content", [0]), "sep": ("</s>", [1])}),
        (["a", "b"], {"content": ("content", [0, 1]), "last": ("last token", [1])}),
        (
            ["<|endoftext|>", "a"],
            {
                "content": ("content", [1]),
                "sep": ("<|endoftext|>", [0]),
                "last": ("last token", [1]),
            },
        ),
        (
            ["[CLS]", "[PAD]"],
            {"cls": ("[CLS]", [0]), "special": ("other special", [1])},
        ),
    ],
)
def test_families(texts: list[str], expected: dict[str, tuple[str, list[int]]]) -> None:
    everything = {"all": ("all tokens", list(range(len(texts))))}
    assert classes_of(*texts) == everything | expected


def test_no_token_is_in_no_class() -> None:
    assert token_classes(run_of([])) == ()


def test_the_demo() -> None:
    run = demo_run("the cat", "the mat")
    assert [(found.name, found.tokens) for found in token_classes(run)] == [
        ("all", (0, 1, 2, 3, 4, 5, 6)),
        ("content", (1, 2, 4, 5)),
        ("cls", (0,)),
        ("sep", (3, 6)),
        ("first", (1, 2)),
        ("second", (4, 5)),
    ]


@pytest.mark.parametrize(
    ("texts", "segments", "sentences", "expected"),
    [
        ("[CLS] a [SEP] b [SEP]", "00011", "", [None, 0, None, 1, None]),
        ("[CLS] a [SEP] b [SEP]", "00000", "00011", [None, 0, None, 1, None]),
        ("<s> a </s> </s> b </s>", "", "000011", [None, 0, None, None, 1, None]),
        ("a <sep> b <sep> <cls>", "00112", "00110", [0, None, 1, None, None]),
        # Nothing stands between the two.
        ("a b", "", "01", [0, 1]),
        ("a b </s>", "", "011", [0, 1, None]),
        ("a b", "", "", [0, 0]),
        # One text stays one, whatever it holds.
        ("<s> a </s> b </s>", "", "00000", [None, 0, None, 0, None]),
        # A decoder has a segment of its own, also where it reads the same text again.
        ("a </s> <s> a", "0011", "0000", [0, None, None, 1]),
    ],
)
def test_sentences_of_a_pair(
    texts: str, segments: str, sentences: str, expected: list[int | None]
) -> None:
    tokens = tokens_of(*texts.split(), segments=segments, sentences=sentences)
    assert list(segments_of(run_of(tokens))) == expected


def tokens(*kinds: tuple[int, int | None]) -> list[Token]:
    return [Token(n, f"t{n}", segment, sentence=of) for n, (segment, of) in enumerate(kinds)]


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ([(0, None), (0, 0), (0, 0), (0, None)], None),
        ([(0, None), (0, 0), (0, None), (1, 1), (1, None)], 3),  # BERT's
        ([(0, None), (0, 0), (0, None), (0, None), (0, 1), (0, None)], 4),  # RoBERTa's
        ([(0, 0), (0, 0), (0, 1)], 2),  # GPT-2's
        ([(0, 0), (0, None), (1, 1), (1, None), (2, None)], 2),  # XLNet's
        ([(0, 0), (0, None), (1, None), (1, 1)], 2),  # a decoder's begins with a token of its own
        ([], None),
    ],
)
def test_where_the_second_text_begins(
    given: list[tuple[int, int | None]], start: int | None
) -> None:
    assert second_start(tokens(*given)) == start
    assert text_starts(tokens(*given)) == (() if start is None else (start,))


def test_a_decoder_that_reads_a_pair_again_begins_three_texts() -> None:
    encoder = [(0, None), (0, 0), (0, None), (0, 1), (0, None)]
    decoder = [(1, None), (1, 0), (1, None), (1, 1)]
    assert text_starts(tokens(*encoder, *decoder)) == (3, 5, 8)


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


def with_ids(ids: str | list[int]) -> list[Token]:
    return [Token(ord(i) if isinstance(i, str) else i, str(i), 0) for i in ids]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "abc", []),
        ("abc", "", []),
        ("abc", "xyz", []),
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abcd", "axcd", [(0, 0), (2, 2), (3, 3)]),
        ("abd", "abcd", [(0, 0), (1, 1), (2, 3)]),
        # More partners beat fewer gaps: b and c alone are not all.
        ("abxc", "abc", [(0, 0), (1, 1), (3, 2)]),
        # Of equal numbers of partners, those side by side win, at either end.
        ("tb", "tmatb", [(0, 3), (1, 4)]),
        ("bt", "btmat", [(0, 0), (1, 1)]),
    ],
)
def test_alignments_worked_by_hand(
    first: str, second: str, expected: list[tuple[int, int]]
) -> None:
    assert list(align(with_ids(first), with_ids(second))) == expected


def test_the_special_tokens_of_two_sentences_meet() -> None:
    one, other = demo_run("the cat sat").tokens, demo_run("a dog of the cat").tokens
    assert align(one, other) == ((0, 0), (1, 4), (2, 5), (4, 6))


def best_score(first: list[int], second: list[int]) -> tuple[int, int]:
    """Try everything: the most pairs, then the most pairs that follow another directly."""

    @cache
    def best(i: int, j: int, is_behind_pair: bool) -> tuple[int, int]:
        if i == len(first) or j == len(second):
            return 0, 0
        ways = [best(i + 1, j, False), best(i, j + 1, False)]
        if first[i] == second[j]:
            pairs, runs = best(i + 1, j + 1, True)
            ways.append((pairs + 1, runs + is_behind_pair))
        return max(ways)

    return best(0, 0, False)


IDS = st.lists(st.integers(0, 3), max_size=9)


@settings(max_examples=200)
@given(IDS, IDS)
def test_an_alignment_rises_pairs_equals_and_is_the_best(
    first: list[int], second: list[int]
) -> None:
    pairs = align(with_ids(first), with_ids(second))
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert all(first[i] == second[j] for i, j in pairs)
    runs = sum((c - a, d - b) == (1, 1) for (a, b), (c, d) in pairwise(pairs))
    assert (len(pairs), runs) == best_score(first, second)


def test_repeated_tokens_at_full_length() -> None:
    ones = with_ids([i % 2 for i in range(512)])
    assert align(ones, ones) == tuple((i, i) for i in range(512))
    assert len(align(ones, with_ids([i % 3 for i in range(512)]))) == 342
