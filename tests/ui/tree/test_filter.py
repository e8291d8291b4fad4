"""Filter of the module tree: terms, numbers, errors, and highlighted texts."""

from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertviewer.ui.tree.filter import KEYS, FilterKey, parse_filter
from bertviewer.ui.tree.rows import TreeItem

QUERY = "encoder.layer.3.attention.self.query"


def row(
    path: str = QUERY,
    *,
    parameters: float = 0,
    layer: int | None = 3,
    statistics: dict[str, float] | None = None,
    shape: tuple[int, ...] | None = None,
    is_trained: bool | None = None,
) -> TreeItem:
    """Return a row of a linear module with some of its values."""
    figures = SimpleNamespace(
        statistic=lambda _row, name: (statistics or {}).get(name),
        macs=lambda _row: None,
        output=lambda _row: None,
        is_trained=lambda _node: is_trained,
    )
    module = SimpleNamespace(
        node=SimpleNamespace(class_name="Linear"),
        label=path.rpartition(".")[2],
        parameters=parameters,
        trainable=parameters,
        shape=shape,
    )
    rows = SimpleNamespace(figures=figures, part=lambda _item: "attention")
    found = SimpleNamespace(
        row=module, key=path, text=f"{path} Linear".casefold(), rows=rows, layer=layer
    )
    return cast(TreeItem, found)


def is_match(text: str, item: TreeItem) -> bool:
    found = parse_filter(text)
    assert found.error == ""
    return found.matches(item)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("  query  ENCODER ", True),
        ("query value", False),
        ("LINEAR", True),
        ('"layer.3.attention"', True),
        ('"layer 3"', False),
        ('"self.query', True),
        ('"class:Linear"', False),
        ("class:Linear", True),
        ("CLASS=linear", True),
        ("class=line", False),
        ('class:"Layer Norm"', False),
        ("-class:Dropout", True),
        ("-class:Linear", False),
        ("-dropout", True),
        ("--query", True),
        ("-" * 9_999 + "query", False),
        ("-", False),
        ("name=query", True),
        ("name=quer", False),
        ("name:quer", True),
        ("path:attention.self", True),
        ("shape:768", True),
        ("shape:384x768", True),
        ("shape:[384,768]", True),
        ("shape:768x384", False),
        ("shape:76", False),
        ("trained:no", False),
        ("trained:yes", True),
        ("class:Linear layer:3 query", True),
        ("class:Linear layer:4 query", False),
        # Unknown values match nothing, but their exclusion.
        ("trainable:yes", False),
        ("macs>0", False),
        ("-macs>0", True),
    ],
)
def test_all_terms_have_to_match(text: str, expected: bool) -> None:
    assert is_match(text, row(shape=(384, 768), is_trained=True)) is expected


@pytest.mark.parametrize(
    ("text", "matches", "others"),
    [
        ("params>1M", [1_000_001], [1_000_000]),
        ("params > 1M", [1_000_001], [1_000_000]),
        ("params>=1.5k", [1_500], [1_499]),
        ("params≤2g", [2_000_000_000], [2_000_000_001]),
        ("params<1,000", [999], [1_000]),
        ("params=768", [768], [767, 769]),
        ("params=1.77M", [1_774_464], [1_780_000]),
        ("params:3-5", [3, 4, 5], [2, 6]),
        ("params:5-3", [3, 5], [2, 6]),
    ],
)
def test_numbers_have_limits_suffixes_and_ranges(
    text: str, matches: list[int], others: list[int]
) -> None:
    assert all(is_match(text, row(parameters=number)) for number in matches)
    assert not any(is_match(text, row(parameters=number)) for number in others)
    assert is_match("mean<-0.5", row(statistics={"mean": -0.6}))
    assert not is_match("mean<-0.5", row(statistics={"mean": -0.4}))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("params>", "Incomplete filter. Example: params>1M"),
        ("params>many", "Invalid filter params>many. Example: params>1M"),
        ("-layer:", "Incomplete filter. Example: layer:3-5"),
        ("class>3", "Invalid filter class>3. Example: class:Linear"),
        ("trained:perhaps", "Invalid filter trained:perhaps. Example: trained:no"),
        ("shape:3x", "Invalid filter shape:3x. Example: shape:768x3072"),
        ("klass:Linear", "Unknown filter klass. Did you mean class?"),
        ("zyx=Linear", "Unknown filter zyx. Click “?” for all filters"),
    ],
)
def test_invalid_terms_are_reported_and_the_others_apply(text: str, error: str) -> None:
    assert parse_filter(text).error == error
    found = parse_filter(f"query {text}")
    assert found.matches(row())
    assert not found.matches(row("encoder.layer.3.attention.self.key"))


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_examples_are_valid(key: FilterKey) -> None:
    found = parse_filter(key.example)
    assert found.error == ""
    assert len(found.terms) == 1


_PIECES = st.sampled_from(
    [*(key.name for key in KEYS), *':=<>≥-".x,[]', ">=", " ", "1", "2.5", "M", "k", "e9", "no", "٣"]
)


@settings(max_examples=40)
@given(st.text() | st.lists(_PIECES, max_size=12).map("".join), st.integers(1, 1_000))
def test_any_text_is_a_filter_with_a_short_error(text: str, repeats: int) -> None:
    long = (text * repeats)[:10_000]
    for typed in (text, long, f"-{long}", f'"{long}', f"params{long}", f"{long}:x"):
        found = parse_filter(typed)
        assert found.error.isprintable()
        assert len(found.error) < 130
        assert isinstance(found.matches(row(parameters=7)), bool)
        assert isinstance(found.highlights("name"), tuple)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_quoted_text_is_a_word(text: str) -> None:
    inner = text.replace('"', "").strip()
    found = parse_filter(f'"{inner}"')
    assert len(found.terms) == 1
    assert found.matches(row(f"a.{inner}.b"))
    assert found.highlights("name") == ((inner.casefold(),) if inner else ())


@given(st.integers(0, 10**13), st.integers(0, 10**13))
def test_comparisons_of_numbers(number: int, limit: int) -> None:
    item = row(parameters=number)
    assert is_match(f"params>{limit}", item) is (number > limit)
    assert is_match(f"params>={limit:,}", item) is (number >= limit)
    assert is_match(f"params<{limit}", item) is (number < limit)
    assert is_match(f"-params<={limit}", item) is (number > limit)
    assert is_match(f"params={limit}", item) is (number == limit)


def test_matches_in_names_and_classes_are_highlighted() -> None:
    found = parse_filter("Query class:lin -dropout params>1")
    assert found.highlights("name") == ("query",)
    assert found.highlights("class") == ("query", "lin")
