"""Searches in an index of many texts, and in several sources at once."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.ui.palette.matching import match, words_of
from bertviewer.ui.palette.search import MAX_PER_KIND, Search
from bertviewer.ui.palette.search_index import MAX_HITS, MAX_TEXT, Hit, SearchIndex
from bertviewer.ui.palette.sources import Item, Source


def slices(search: Iterator[None]) -> int:
    return sum(1 for _ in search)


def hits_in(index: SearchIndex, query: str) -> list[Hit]:
    hits: list[Hit] = []
    slices(index.find(words_of(query), hits))
    return sorted(hits, key=lambda hit: hit.rank)


def layers(count: int) -> list[str]:
    parts = ("attention.self.query", "attention.self.key", "output.dense", "output.LayerNorm")
    return [f"encoder.layer.{n}.{part}.weight" for n in range(count) for part in parts]


@given(
    st.lists(st.text("aBc1.2_", max_size=8), max_size=20),
    st.text("abc12 .", min_size=1, max_size=5).filter(str.strip),
)
def test_the_index_finds_all_matching_texts(texts: list[str], query: str) -> None:
    hits = hits_in(SearchIndex(texts), query)
    matches = {n: match(words_of(query), text) for n, text in enumerate(texts)}
    expected = {n: found for n, found in matches.items() if found is not None}
    numbers = [word for word in words_of(query) if any(letter.isdigit() for letter in word)]
    exact = {n for n in expected if all(word in texts[n].lower() for word in numbers)}
    # Letters of a word with a digit may be apart only if no text has the whole word.
    assert {hit.number for hit in hits} <= (exact or set(expected))
    assert bool(hits) == bool(expected)
    if not numbers:
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
def test_the_best_of_thousands_comes_first(query: str, first: str) -> None:
    hits = hits_in(SearchIndex(layers(1000)), query)
    assert hits[0].text == first
    assert len(hits) <= MAX_HITS


def test_numbers_are_matched_as_a_whole_if_possible() -> None:
    index = SearchIndex(["layer.3  384", "layer.13  384", "layer.30  384", "layer.1  384"])
    assert [hit.number for hit in hits_in(index, "layer 3")] == [0]
    assert [hit.number for hit in hits_in(index, "layer 38")] == [0, 3, 1, 2]


def test_the_index_works_in_slices() -> None:
    index = SearchIndex(layers(10_000))
    assert slices(index.prepare()) > 5
    assert slices(index.prepare()) == 0
    assert slices(index.find(words_of("lyr3"), [])) > 5
    first: list[Hit] = []
    assert slices(index.find((), first)) == 0
    assert [hit.number for hit in first] == list(range(MAX_HITS))


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\0b\nc", r"a\x00b\nc"), ("x" * 10_000, "x" * (MAX_TEXT - 1) + "…"), ("<b>שלום</b>", None)],
)
def test_untrusted_names(text: str, shown: str | None) -> None:
    index = SearchIndex([text])
    (hit,) = hits_in(index, "")
    assert hit.text == (text if shown is None else shown)
    assert hits_in(index, text[0])


def source(title: str, prefix: str, *texts: str) -> Source:
    return Source(title, SearchIndex(texts), lambda _: Item(list), prefix)


SOURCES = (
    source("Modules", "", "encoder.layer.0.attention", "pooler", "embeddings"),
    source("Tensors", "#", *(f"encoder.layer.{n}.attention.weight" for n in range(20))),
    source("Commands", ">", "Appearance: Dark", "Cancel", "Open folder", "Pool of attention"),
)


def found(query: str) -> dict[str, list[str]]:
    search = Search(query, SOURCES)
    while not search.is_done:
        search.work(0.001)
    return {group.source.title: [hit.text for hit in group.hits] for group in search.groups()}


def test_kinds_are_ranked_and_limited() -> None:
    assert list(found("attention")) == ["Modules", "Tensors", "Commands"]
    assert len(found("attention")["Tensors"]) == MAX_PER_KIND
    assert len(found("#attention")["Tensors"]) == 20
    assert list(found("pool")) == ["Commands", "Modules"], "a whole word is better"
    # Much worse hits are left out.
    assert found("encoder.layer.7") == {"Tensors": ["encoder.layer.7.attention.weight"]}
    assert "Commands" not in found("encoder layer attention")


def test_a_prefix_restricts_the_search_to_one_kind() -> None:
    assert found("#pool") == {}
    assert found("> pool") == {"Commands": ["Pool of attention"]}
    assert found(">") == {"Commands": list(SOURCES[2].index.texts)}
    assert found("@pool") == {}, "no source has this prefix: it is searched for"


def test_without_a_match_of_all_words_most_of_them_count() -> None:
    assert found("pooled attentions") == {"Commands": ["Pool of attention"]}
    assert found("embedding dimension") == {"Modules": ["embeddings"]}
    assert found("dimension") == {}
    assert found("attention layer 21") == {}, "another layer is no answer"


ODD = st.sampled_from([*">#@()[]*+?\\|^$.\"'0\0\u202e×x3٣İß", "[CLS]", "(a+)+$", "7×8", " "])


@given(st.text(max_size=100) | st.lists(ODD, max_size=20).map("".join), st.integers(1, 1_000))
def test_any_text_can_be_searched_for(text: str, many: int) -> None:
    hits = found((text * many)[:10_000])
    assert all(hits.values())
    if not text.strip():
        assert list(hits) == ["Modules", "Tensors", "Commands"]


def test_a_search_starts_when_it_is_asked_to_work() -> None:
    search = Search("pool", SOURCES)
    search.work(0)
    assert not search.is_done
    assert search.groups() == []
