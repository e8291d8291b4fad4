"""Classes of tokens, family by family, and which of two texts a token is of."""

from typing import Any

import pytest

from bertviewer.core.analysis.tokens import second_start, segments_of, text_starts, token_classes
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
