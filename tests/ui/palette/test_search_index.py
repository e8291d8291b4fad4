"""Many texts, and those that fit: what a plain look at each of them would find."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.ui.palette.matching import match, words_of
from bertviewer.ui.palette.search_index import MAX_HITS, MAX_TEXT, Hit, SearchIndex


def found(index: SearchIndex, query: str) -> list[Hit]:
    hits: list[Hit] = []
    exhaust(index.find(words_of(query), hits))
    return sorted(hits, key=lambda hit: hit.rank)


def exhaust(pieces: Iterator[None]) -> int:
    return sum(1 for _ in pieces)


def layers(count: int) -> list[str]:
    parts = ("attention.self.query", "attention.self.key", "output.dense", "output.LayerNorm")
    return [f"encoder.layer.{n}.{part}.weight" for n in range(count) for part in parts]


TEXTS = st.lists(st.text("aBc1.2_", max_size=8), max_size=20)
QUERIES = st.text("abc12 .", min_size=1, max_size=5).filter(str.strip)


@given(TEXTS, QUERIES)
def test_it_finds_what_fits(texts: list[str], query: str) -> None:
    hits = found(SearchIndex(texts), query)
    fits = {n: match(words_of(query), text) for n, text in enumerate(texts)}
    expected = {n: each for n, each in fits.items() if each is not None}
    digits = [word for word in words_of(query) if any(letter.isdigit() for letter in word)]
    small = [text.lower() for text in texts]
    whole = {n for n in expected if all(word in small[n] for word in digits)}
    # Words with a number in them are taken as they are where anything has them so.
    assert {hit.number for hit in hits} <= (whole or set(expected))
    assert bool(hits) == bool(expected)
    if not digits:
        assert {hit.number for hit in hits} == set(expected)
    assert all(hit.match == expected[hit.number] and hit.text == texts[hit.number] for hit in hits)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("query", "encoder.layer.0.attention.self.query.weight"),
        ("layer 37 norm", "encoder.layer.37.output.LayerNorm.weight"),
        ("key 999", "encoder.layer.999.attention.self.key.weight"),
        ("7 dense", "encoder.layer.7.output.dense.weight"),
        ("el12n", "encoder.layer.12.output.LayerNorm.weight"),
    ],
)
def test_the_best_one_is_found_among_thousands(query: str, first: str) -> None:
    hits = found(SearchIndex(layers(1000)), query)
    assert hits[0].text == first
    assert len(hits) <= MAX_HITS


def test_a_layer_is_not_another_one_with_its_number_in_it() -> None:
    index = SearchIndex(["layer.3  384", "layer.13  384", "layer.30  384", "layer.1  384"])
    assert [hit.number for hit in found(index, "layer 3")] == [0]
    assert [hit.number for hit in found(index, "layer 38")] == [0, 3, 1, 2]


def test_without_words_the_first_ones_are_offered() -> None:
    hits: list[Hit] = []
    exhaust(SearchIndex(layers(1000)).find((), hits))
    assert [hit.number for hit in hits] == list(range(MAX_HITS))


def test_work_is_done_in_pieces() -> None:
    index = SearchIndex(layers(10_000))
    assert exhaust(index.prepare()) > 5
    assert exhaust(index.prepare()) == 0
    assert exhaust(index.find(words_of("lyr3"), [])) > 5
    # What has a number in it as it was typed is known without a look at all others.
    assert exhaust(index.find(words_of("layer 3"), [])) < 5


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\0b\nc", r"a\x00b\nc"), ("x" * 10_000, "x" * (MAX_TEXT - 1) + "…"), ("<b>שלום</b>", None)],
)
def test_names_of_strangers(text: str, shown: str | None) -> None:
    index = SearchIndex([text])
    (hit,) = found(index, "")
    assert hit.text == (text if shown is None else shown)
    assert found(index, text[0])
