"""Classes, words and alignment of tokens."""

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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

Classes = dict[str, tuple[str, list[int]]]


def classes_of(texts: str, segments: str = "") -> Classes:
    pair = "text" if segments else None
    run = run_of(tokens_of(*texts.split(), segments=segments), pair=pair)
    return {found.name: (found.label, list(found.tokens)) for found in token_classes(run)}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("<s> a </s>", {"content": ("content", [1]), "cls": ("<s>", [0]), "sep": ("</s>", [2])}),
        (
            "a <sep> <cls>",
            {"content": ("content", [0]), "cls": ("<cls>", [2]), "sep": ("<sep>", [1])},
        ),
        ("a </s>", {"content": ("content", [0]), "sep": ("</s>", [1])}),
        ("a b", {"content": ("content", [0, 1]), "last": ("last token", [1])}),
        (
            "<|endoftext|> a",
            {
                "content": ("content", [1]),
                "sep": ("<|endoftext|>", [0]),
                "last": ("last token", [1]),
            },
        ),
        ("[CLS] [PAD]", {"cls": ("[CLS]", [0]), "special": ("other special", [1])}),
    ],
)
def test_classes_of_families(texts: str, expected: Classes) -> None:
    everything = {"all": ("all tokens", list(range(len(texts.split()))))}
    assert classes_of(texts) == everything | expected


def test_classes_of_a_pair() -> None:
    assert classes_of("[CLS] a [MASK] [SEP] [UNK] b [SEP]", "0000111") == {
        "all": ("all tokens", [0, 1, 2, 3, 4, 5, 6]),
        "content": ("content", [1, 2, 4, 5]),
        "cls": ("[CLS]", [0]),
        "sep": ("[SEP]", [3, 6]),
        "mask": ("[MASK]", [2]),
        "first": ("first sentence", [1, 2]),
        "second": ("second sentence", [4, 5]),
        "unknown": ("unknown", [4]),
    }
    assert token_classes(run_of([])) == ()


@pytest.mark.parametrize(
    ("texts", "segments", "sentences", "expected"),
    [
        ("[CLS] a [SEP] b [SEP]", "00011", "", [None, 0, None, 1, None]),
        ("[CLS] a [SEP] b [SEP]", "00000", "00011", [None, 0, None, 1, None]),
        ("<s> a </s> </s> b </s>", "", "000011", [None, 0, None, None, 1, None]),
        ("a <sep> b <sep> <cls>", "00112", "00110", [0, None, 1, None, None]),
        # Without a separator between the two.
        ("a b", "", "01", [0, 1]),
        ("a b </s>", "", "011", [0, 1, None]),
        ("a b", "", "", [0, 0]),
        # A separator in one text does not make two.
        ("<s> a </s> b </s>", "", "00000", [None, 0, None, 0, None]),
        # A decoder that reads the same text again.
        ("a </s> <s> a", "0011", "0000", [0, None, None, 1]),
    ],
)
def test_the_two_texts_of_a_pair(
    texts: str, segments: str, sentences: str, expected: list[int | None]
) -> None:
    tokens = tokens_of(*texts.split(), segments=segments, sentences=sentences)
    assert list(segments_of(run_of(tokens))) == expected


@pytest.mark.parametrize(
    ("segments", "sentences", "starts"),
    [
        ("0000", "-00-", ()),
        ("00011", "-0-1-", (3,)),  # BERT
        ("000000", "-0--1-", (4,)),  # RoBERTa
        ("000", "001", (2,)),  # GPT-2
        ("00112", "0-1--", (2,)),  # XLNet
        ("0011", "0--1", (2,)),  # a decoder that begins with a special token
        ("000001111", "-0-1--0-1", (3, 5, 8)),  # a decoder that reads a pair again
        ("", "", ()),
    ],
)
def test_starts_of_texts(segments: str, sentences: str, starts: tuple[int, ...]) -> None:
    tokens = [
        Token(0, "t", int(segment), sentence=None if sentence == "-" else int(sentence))
        for segment, sentence in zip(segments, sentences, strict=True)
    ]
    assert text_starts(tokens) == starts
    assert second_start(tokens) == (starts[0] if starts else None)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ("122 ##12 ##12 ##1", "12212121"),
        ("##s", "##s"),
        ("Ġun aff ably", "unaffably"),
        ("cafÃ©", "café"),
        ("Ġä½ł å¥½", "你好"),
        ("café", "café"),
        ("māja", "māja"),
        ("Ċ", "Ċ"),
        ("Ġ", "Ġ"),
        ("▁re view", "review"),
        ("▁", "▁"),
        ("re view</w>", "review"),
        ("re@@ view", "review"),
        ("@@", "@@"),
        ("[UNK]", "[UNK]"),
    ],
)
def test_pieces_of_all_vocabularies_are_joined(pieces: str, text: str) -> None:
    assert word_text(pieces.split()) == text


@pytest.mark.parametrize(
    "text",
    ["a naïve café", "你好，世界", "مرحبا بالعالم", "👩‍🔬 🙂!", "Ελλάδα ¡¬®", "žluťoučký kůň"],
)
def test_byte_level_pieces_are_decoded(text: str) -> None:
    for piece, (start, end) in ByteLevel().pre_tokenize_str(text):
        word = text[start:end].strip()
        assert word_text([piece]) == word
        assert word_text(list(piece)) == word
    for word in text.split():
        assert word_text([word]) == word


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
    # A decoder that reads the same text has the same word indices.
    again = tokens_of("a", "b", "a", "b", words=[0, 1, 0, 1], segments="0011")
    found = [(word.text, word.segment, word.tokens) for word in words_of(run_of(again))]
    assert found == [("a", 0, (0,)), ("b", 0, (1,)), ("a", 1, (2,)), ("b", 1, (3,))]


def test_words_and_classes_of_the_demo() -> None:
    words = words_of(demo_run("this is a 12212121 test sentence"))
    assert [word.text for word in words] == ["this", "is", "a", "12212121", "test", "sentence"]
    assert words[3].tokens == (4, 5, 6, 7)
    pair = token_classes(demo_run("the cat", "the mat"))
    assert [(found.name, found.tokens) for found in pair][1:] == [
        ("content", (1, 2, 4, 5)),
        ("cls", (0,)),
        ("sep", (3, 6)),
        ("first", (1, 2)),
        ("second", (4, 5)),
    ]


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


@settings(max_examples=50)
@given(TOKENS, st.none() | st.just("pair"))
def test_words_do_not_overlap(tokens: list[Token], pair: str | None) -> None:
    words = words_of(run_of(tokens, pair=pair))
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
        ("he said , yes .", "he said yes"),
        ("don ' t", "don t"),
        ("$ 5 € 🙂", "5 € 🙂"),
        ("你 好 ， 世 。", "你 好 世"),
        ('Ġ" Ġno âĢĿ Ċ Ġ ▁ !</w>', "no"),
        ("3.5 U.S. --", "3.5 U.S."),
    ],
)
def test_punctuation_and_spaces_are_not_words(texts: str, expected: str) -> None:
    words = words_of(run_of(tokens_of(*texts.split())))
    assert [word.text for word in words] == expected.split()
    assert [word.number for word in words] == list(range(len(words)))


def test_unknown_pieces_are_words_and_pieces_of_punctuation_are_not() -> None:
    (word,) = words_of(run_of([Token(0, "�", 0, is_unknown=True)]))
    assert word.is_unknown
    tokens = tokens_of("wait", ".", "##.", "##.", words=[0, 1, 1, 1])
    assert [word.tokens for word in words_of(run_of(tokens))] == [(0,)]


def with_ids(ids: list[int]) -> list[Token]:
    return [Token(i, str(i), 0) for i in ids]


def best_score(first: list[int], second: list[int]) -> tuple[int, int]:
    """Search all alignments: most pairs, then most pairs that directly follow another."""

    @cache
    def best(i: int, j: int, follows_pair: bool) -> tuple[int, int]:
        if i == len(first) or j == len(second):
            return 0, 0
        found = [best(i + 1, j, False), best(i, j + 1, False)]
        if first[i] == second[j]:
            pairs, runs = best(i + 1, j + 1, True)
            found.append((pairs + 1, runs + follows_pair))
        return max(found)

    return best(0, 0, False)


IDS = st.lists(st.integers(0, 3), max_size=9)


@settings(max_examples=200)
@given(IDS, IDS)
def test_alignments_have_the_most_pairs_and_the_fewest_gaps(
    first: list[int], second: list[int]
) -> None:
    pairs = align(with_ids(first), with_ids(second))
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert all(first[i] == second[j] for i, j in pairs)
    runs = sum((c - a, d - b) == (1, 1) for (a, b), (c, d) in pairwise(pairs))
    assert (len(pairs), runs) == best_score(first, second)


def test_alignments_of_sentences_and_of_long_texts() -> None:
    one, other = demo_run("the cat sat").tokens, demo_run("a dog of the cat").tokens
    assert align(one, other) == ((0, 0), (1, 4), (2, 5), (4, 6))
    ones = with_ids([i % 2 for i in range(512)])
    assert align(ones, ones) == tuple((i, i) for i in range(512))
    assert len(align(ones, with_ids([i % 3 for i in range(512)]))) == 342
