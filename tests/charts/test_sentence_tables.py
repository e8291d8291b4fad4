"""Sentences as vectors, and a padded one, in tables and in words."""

from msgspec.structs import replace

from bertviewer.charts.sentence_tables import (
    padding_line,
    padding_table,
    sentence_line,
    sentence_table,
)
from bertviewer.charts.table import csv_text
from bertviewer.core.analysis.padding import PaddedAttention, PaddedState, Padding
from bertviewer.core.analysis.sentence_vectors import (
    PooledCosines,
    SentenceComparison,
    UnrelatedCosines,
)
from bertviewer.core.schema.activation_run import Token

UNRELATED = UnrelatedCosines(0.5, 0.25, 0.75)
COMPARED = SentenceComparison(
    "one",
    "two",
    (
        PooledCosines("cls", "<s>", (0.9, 0.8), (UNRELATED, UNRELATED)),
        PooledCosines("mean", "mean of all tokens", (0.9, 0.7), (UNRELATED, UNRELATED)),
        PooledCosines("pooled", "pooled", (None,), (None,)),
    ),
    tuple("abcdefghijkl"),
)
TOKENS = tuple(Token(n, str(n), 0) for n in range(5))
PADDING = Padding(
    TOKENS,
    3,
    (PaddedState(0.0, 0.0, 1e-5, 9.0, 8.0), PaddedState(1e-6, 0.5, 1e-5, 7.0, 6.5)),
    (PaddedAttention(0.0, 0.25),),
)


def test_a_row_has_the_cosine_beside_those_of_unrelated_sentences() -> None:
    rows = [[cell.text for cell in row] for row in sentence_table(COMPARED).rows]
    assert rows == [
        ["<s>", "0.8", "0.5", "0.25", "0.75"],
        ["mean of all tokens", "0.7", "0.5", "0.25", "0.75"],
        ["pooled", "–", "–", "–", "–"],
    ]


def test_only_a_cosine_above_all_unrelated_ones_stands_out() -> None:
    assert [row[1].is_bold for row in sentence_table(COMPARED).rows] == [True, False, False]


def test_the_data_tell_a_stranger_what_they_are() -> None:
    header = csv_text(sentence_table(COMPARED)).splitlines()[0]
    assert "Cosine of the two sentences,Mean cosine of unrelated sentences" in header
    header = csv_text(padding_table(PADDING)).splitlines()[0]
    assert "Largest change without the mask" in header
    assert "Attention to padding with the mask" in header


def test_the_line_says_what_it_is_compared_with() -> None:
    assert "66 pairs of 12 plain sentences" in sentence_line(COMPARED)


def test_a_layer_has_the_attention_that_leads_to_its_state() -> None:
    rows = [[cell.text for cell in row] for row in padding_table(PADDING).rows]
    assert rows == [
        ["emb", "0", "0", "–", "–", "8", "9"],
        ["0", "1e−06", "0.5", "0", "25.0%", "6.5", "7"],
    ]


def test_words_say_what_the_mask_does() -> None:
    assert padding_line(PADDING) == (
        "With the mask (3 ones, 2 zeros) the text’s vectors do not change, apart from rounding "
        "(1e−06). Without it they shift by up to 0.5, because padding receives 25% to 25% of the "
        "attention. The vectors of padding are not zero: their norm is 6.5, that of the others 7."
    )


def test_words_are_right_where_it_is_otherwise() -> None:
    same = replace(PADDING, states=(PaddedState(0.0, 0.0, 1e-5, 9.0, 8.0),), is_causal=True)
    assert "vectors do not change. Padding follows the text" in padding_line(same)
    other = replace(PADDING, states=(PaddedState(0.3, 0.5, 1e-5, 9.0, 8.0),))
    assert padding_line(other).startswith("Even with the mask (3 ones, 2 zeros) the text’s")
    assert "change by up to 0.3." in padding_line(other)
