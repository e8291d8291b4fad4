"""What a person types into the tree's filter, and what it finds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from bertviewer.ui.tree.filter import KEYS, parse_filter
from bertviewer.ui.tree.terms import Not, Sizes, Term, Truth, Within, Words, Written


class Module(Struct):
    """A module by what is known of it."""

    path: str = "encoder.layer.3.attention.self.query"
    class_name: str = "Linear"
    numbers: dict[str, float] = field(default_factory=dict)
    shape: tuple[str, ...] | None = None
    truths: dict[str, bool] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return f"{self.path} {self.class_name}".casefold()

    def written(self, key: str) -> str | None:
        name = self.path.rpartition(".")[2]
        return {"class": self.class_name, "path": self.path, "name": name}.get(key)

    def number(self, key: str) -> float | None:
        return self.numbers.get(key)

    def sizes(self, key: str) -> tuple[str, ...] | None:
        return self.shape if key == "shape" else None

    def truth(self, key: str) -> bool | None:
        return self.truths.get(key)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("  query  Key ", (Words("query"), Words("key"))),
        ('"self attention"', (Words("self attention"),)),
        ('"not closed', (Words("not closed"),)),
        ("class:Linear", (Written("class", "linear"),)),
        ("CLASS=linear", (Written("class", "linear", is_whole=True),)),
        ('class:"Layer Norm"', (Written("class", "layer norm"),)),
        ("-class:Dropout", (Not(Written("class", "dropout")),)),
        ("-dropout", (Not(Words("dropout")),)),
        ("-", (Words("-"),)),
        ("--", (Words("--"),)),
        ("--dropout", (Words("dropout"),)),
        ("-" * 9_999 + "dropout", (Not(Words("dropout")),)),
        ('"class:Linear"', (Words("class:linear"),)),
        ("params>1M", (Within("params", 1e6, math.inf, is_open=True),)),
        ("params > 1M", (Within("params", 1e6, math.inf, is_open=True),)),
        ("params>=1.5k", (Within("params", 1500, math.inf),)),
        ("params≤2g", (Within("params", -math.inf, 2e9),)),
        ("params<1,000", (Within("params", -math.inf, 1000, is_open=True),)),
        ("params=768", (Within("params", 768, 768),)),
        ("layer:3", (Within("layer", 3, 3),)),
        ("layer:3-5", (Within("layer", 3, 5),)),
        ("layer:5-3", (Within("layer", 3, 5),)),
        ("std<-0.5", (Within("std", -math.inf, -0.5, is_open=True),)),
        ("shape:768", (Sizes("shape", ("768",)),)),
        ("shape:768x3072", (Sizes("shape", ("768", "3072")),)),
        ("shape:[768,3072]", (Sizes("shape", ("768", "3072")),)),
        ("trained:no", (Truth("trained", False),)),
        ("class:Linear layer:3 query", (Written("class", "linear"), Within("layer", 3, 3),
                                        Words("query"))),
    ],
)  # fmt: skip
def test_a_text_is_read(text: str, terms: tuple[Term, ...]) -> None:
    found = parse_filter(text)
    assert found.terms == terms
    assert found.unclear == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("params>", "Incomplete filter. Example: params>1M"),
        ("params>many", "Invalid filter params>many. Example: params>1M"),
        ("-layer:", "Incomplete filter. Example: layer:3-5"),
        ("class>3", "Invalid filter class>3. Example: class:Linear"),
        ("trained:perhaps", "Invalid filter trained:perhaps. Example: trained:no"),
        ("shape:3x", "Invalid filter shape:3x. Example: shape:768x3072"),
    ],
)
def test_what_is_not_understood_is_said_with_an_example(text: str, said: str) -> None:
    assert parse_filter(text).unclear == said
    # The other terms hold all the same.
    assert parse_filter(f"query {text}").terms == (Words("query"),)


def test_an_unknown_key_is_said_with_the_one_that_may_be_meant() -> None:
    assert parse_filter("klass:Linear").unclear == "Unknown filter klass. Did you mean class?"
    assert parse_filter("zyx=Linear").unclear == "Unknown filter zyx. Click “?” for all filters"


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_examples_are_understood(key: object) -> None:
    example = getattr(key, "example", "")
    found = parse_filter(example)
    assert found.unclear == ""
    assert len(found.terms) == 1


@given(st.text())
def test_any_text_gives_a_filter_or_one_clear_line(text: str) -> None:
    found = parse_filter(text)
    assert found.unclear.isprintable()
    assert isinstance(found.fits(Module()), bool)
    assert isinstance(found.marks("name"), tuple)


_PIECES = st.sampled_from(
    [*(key.name for key in KEYS), *':=<>≥-".x,[]', ">=", " ", "1", "2.5", "M", "k", "e9", "no", "٣"]
)


@given(st.lists(_PIECES, max_size=12).map("".join), st.integers(1, 10_000))
def test_ten_thousand_letters_give_a_filter_and_a_line_that_is_short(text: str, many: int) -> None:
    long = (text * many)[:10_000]
    for typed in (long, f"-{long}", f'"{long}', f"params{long}", f"{long}:x"):
        found = parse_filter(typed)
        assert len(found.unclear) < 130
        assert isinstance(found.fits(Module(numbers={"params": 7})), bool)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_any_mixture_of_its_own_pieces_gives_one_too(text: str) -> None:
    found = parse_filter(text)
    assert found.unclear.isprintable()
    assert isinstance(found.fits(Module(numbers={"params": 7})), bool)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_what_stands_in_quotes_is_a_text(text: str) -> None:
    inner = text.replace('"', "")
    terms = parse_filter(f'"{inner}"').terms
    assert terms == (Words(inner.strip().casefold()),)
    assert parse_filter(f'"{inner}"').fits(Module(path=f"a.{inner}.b"))


@given(st.integers(0, 10**13), st.integers(0, 10**13))
def test_numbers_are_compared(number: int, limit: int) -> None:
    module = Module(numbers={"params": number})
    assert parse_filter(f"params>{limit}").fits(module) is (number > limit)
    assert parse_filter(f"params>={limit:,}").fits(module) is (number >= limit)
    assert parse_filter(f"params<{limit}").fits(module) is (number < limit)
    assert parse_filter(f"-params<={limit}").fits(module) is (number > limit)
    assert parse_filter(f"params={limit}").fits(module) is (number == limit)


def test_a_rounded_number_is_equal_to_what_is_rounded_to_it() -> None:
    found = parse_filter("params=1.77M")
    assert found.fits(Module(numbers={"params": 1_774_464}))
    assert not found.fits(Module(numbers={"params": 1_780_000}))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("query layer.3", True),
        ("query value", False),
        ("LINEAR", True),
        ("name=query", True),
        ("name=quer", False),
        ("name:quer", True),
        ("path:attention.self", True),
        ("-class:Dropout", True),
        ("-class:Linear", False),
        ("shape:768", True),
        ("shape:384x768", True),
        ("shape:768x384", False),
        ("shape:76", False),
        ("trained:no", False),
        ("trained:yes", True),
        # What is not known fits nothing.
        ("trainable:yes", False),
        ("macs>0", False),
    ],
)
def test_all_terms_are_needed(text: str, fits: bool) -> None:
    module = Module(shape=("384", "768"), truths={"trained": True})
    assert parse_filter(text).fits(module) is fits


def test_what_was_found_in_names_and_classes_is_marked() -> None:
    found = parse_filter("Query class:lin -dropout params>1")
    assert found.marks("name") == ("query",)
    assert found.marks("class") == ("query", "lin")
