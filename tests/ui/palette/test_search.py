"""What is found in several kinds of things at once."""

from hypothesis import given
from hypothesis import strategies as st

from bertviewer.ui.palette.search import MAX_PER_KIND, Search
from bertviewer.ui.palette.search_index import SearchIndex
from bertviewer.ui.palette.sources import Item, Source


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


def test_the_kind_with_the_best_hit_comes_first() -> None:
    assert list(found("attention")) == ["Modules", "Tensors", "Commands"]
    assert list(found("pool")) == ["Commands", "Modules"], "a whole word is better"
    assert list(found("dark")) == ["Commands"]


def test_of_each_kind_there_are_few() -> None:
    assert len(found("attention")["Tensors"]) == MAX_PER_KIND
    assert len(found("#attention")["Tensors"]) == 20


def test_a_sign_finds_one_kind_alone() -> None:
    assert list(found("#pool")) == []
    assert found("> pool") == {"Commands": ["Pool of attention"]}
    assert found(">") == {"Commands": list(SOURCES[2].index.texts)}
    assert found("@pool") == {}, "no source has that sign: it is looked for"


def test_what_fits_much_worse_is_left_out() -> None:
    assert found("encoder.layer.7") == {"Tensors": ["encoder.layer.7.attention.weight"]}
    assert "Commands" not in found("encoder layer attention")


def test_where_nothing_has_all_words_most_of_them_are_found() -> None:
    assert found("pooled attentions") == {"Commands": ["Pool of attention"]}
    assert found("embedding dimension") == {"Modules": ["embeddings"]}
    assert found("dimension") == {}
    assert found("attention layer 21") == {}, "another layer is no answer"


ODD = st.sampled_from([*">#@()[]*+?\\|^$.\"'\0\u202e×x3٣İß", "[CLS]", "(a+)+$", "7×8", " "])


@given(st.text(max_size=100) | st.lists(ODD, max_size=20).map("".join), st.integers(1, 1_000))
def test_whatever_is_typed_is_looked_for(text: str, many: int) -> None:
    hits = found((text * many)[:10_000])
    assert all(texts for texts in hits.values())
    if not text.strip():
        assert list(hits) == ["Modules", "Tensors", "Commands"]


def test_no_work_is_done_before_it_is_asked_for() -> None:
    search = Search("pool", SOURCES)
    search.work(0)
    assert not search.is_done
    assert search.groups() == []
