"""A frozen class does what ``dataclass(frozen=True, slots=True)`` does, of which it is a copy."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.frozen import frozen

Value = TypeVar("Value")
Maker = Callable[[type[Any]], type[Any]]
STANDARD: Maker = dataclass(frozen=True, slots=True)

KINDS: tuple[Callable[[], Any], ...] = (
    field,
    lambda: field(default=3),
    lambda: field(default_factory=list),
    lambda: field(default=4, compare=False),
    lambda: field(default=5, repr=False),
    lambda: field(default=6, hash=False),
    lambda: field(default=7, init=False),
    lambda: field(default_factory=list, init=False, compare=False),
)
NAMES = ("missing", "put", "kind", "default")
"""Such as the names in what makes a class."""


def made(kinds: list[int], make: Maker) -> type[Any]:
    """Return a class with one field of each of these kinds; those without a default come first."""
    body = {name: KINDS[kind]() for name, kind in zip(NAMES, sorted(kinds), strict=False)}
    annotations = dict.fromkeys(body, "object")
    return make(type("Made", (), {**body, "__annotations__": annotations}))


def outcome(act: Callable[[], object]) -> object:
    """Return what something gives, or the error that it ends in."""
    try:
        return act()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error), str(error)


@given(
    st.lists(st.integers(0, len(KINDS) - 1), max_size=4),
    st.lists(st.one_of(st.integers(0, 2), st.just(float("nan"))), max_size=4),
    st.lists(st.one_of(st.integers(0, 2), st.just(float("nan"))), max_size=4),
)
def test_it_does_what_the_standard_one_does(
    kinds: list[int], first: list[Any], second: list[Any]
) -> None:
    assert str(seen(made(kinds, frozen), first, second)) == str(
        seen(made(kinds, STANDARD), first, second)
    )


def seen(kind: type[Any], first: list[Any], second: list[Any]) -> list[object]:
    """Return all that is seen of two objects of a class."""
    one: Any = outcome(lambda: kind(*first))
    other: Any = outcome(lambda: kind(*second))
    found = [is_dataclass(kind), repr(one), repr(other), one == other, one == (*first,)]
    if not isinstance(one, kind):
        return found
    found += [outcome(lambda: hash(one)), repr(asdict(one)), repr(copy.copy(one))]
    found += [repr(copy.deepcopy(one)), kind.__match_args__]
    for name in (f.name for f in fields(one)):
        found.append(repr(outcome(partial(replace, one, **{name: 1}))))
        with pytest.raises(FrozenInstanceError, match=name):
            setattr(one, name, 1)
        with pytest.raises(FrozenInstanceError, match=name):
            delattr(one, name)
    with pytest.raises((FrozenInstanceError, TypeError)):
        one.no_field = 1
    return found


@frozen
class Point:
    x: int
    y: int = 2


@frozen
class Named(Point, Generic[Value]):
    value: Value | None = None
    many: list[int] = field(default_factory=list)
    length: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.many))


def test_fields_are_inherited_and_what_follows_is_worked_out() -> None:
    named: Named[str] = Named(1, value="v", many=[1, 2])
    assert repr(named) == "Named(x=1, y=2, value='v', many=[1, 2], length=2)"
    assert replace(named, many=[3]).length == 1
    assert named != Point(1)
    assert not hasattr(named, "__dict__")


def test_it_can_be_sent_to_another_process() -> None:
    point = Point(1, 5)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        if protocol >= 2:  # what is older knows no slots
            assert pickle.loads(pickle.dumps(point, protocol)) == point


def test_an_object_may_be_equal_to_itself_alone() -> None:
    @frozen(eq=False)
    class Thing:
        name: str

    one, other = Thing("a"), Thing("a")
    assert one == one  # noqa: PLR0124
    assert one != other
    assert len({one, other}) == 2


def test_a_property_can_be_cached_where_there_are_no_slots() -> None:
    @frozen(slots=False)
    class Numbers:
        values: tuple[int, ...]

        @cached_property
        def total(self) -> int:
            return sum(self.values)

    numbers = Numbers((1, 2))
    assert numbers.total == numbers.total == 3
    assert numbers == Numbers((1, 2))


def test_what_a_class_has_written_itself_stays() -> None:
    @frozen
    class Word:
        text: str

        def __repr__(self) -> str:
            return self.text

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Word) and other.text.lower() == self.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

    assert repr(Word("A")) == "A"
    assert {Word("A"), Word("a")} == {Word("a")}


def test_another_class_with_the_same_fields_is_not_equal() -> None:
    @frozen
    class Other:
        x: int
        y: int = 2

    other: object = Other(1)
    assert other != Point(1)
    for one, another in product((Point(1), Point(2)), repeat=2):
        assert (one == another) == (one.x == another.x)
