"""Data classes become JSON and come back, and nothing comes back that their types do not name."""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import pytest

from bertviewer.core.frozen import frozen
from bertviewer.core.plain_data import Document, Odd, Reader
from bertviewer.core.text.special_floats import Scalar


@frozen
class Leaf:
    name: str
    size: float | None = None


@frozen
class Tree(Document):
    JSON = "class_name=class count leaves?leaves by_name inner?inner"

    class_name: str
    leaves: tuple[Leaf, ...] = ()
    by_name: Mapping[str, Scalar] = field(default_factory=dict)
    inner: "Tree | None" = None

    @property
    def count(self) -> int:
        return len(self.leaves)


def test_a_document_has_the_names_and_the_order_that_the_class_says() -> None:
    tree = Tree("Oak", (Leaf("a", 1.5), Leaf("b")), {"x": 1, "y": None}, Tree("Elm"))
    assert tree.to_json() == {
        "class": "Oak",
        "count": 2,
        "leaves": [{"name": "a", "size": 1.5}, {"name": "b", "size": None}],
        "by_name": {"x": 1, "y": None},
        "inner": {"class": "Elm", "count": 0, "by_name": {}},
    }
    assert list(tree.to_json()) == ["class", "count", "leaves", "by_name", "inner"]
    assert Tree.from_json(json.loads(json.dumps(tree.to_json()))) == tree


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "it.'class' is missing, or not known"),
        ({"class": 1}, "it.class is not a text"),
        ({"class": "\ud800"}, "it.class is not valid Unicode"),
        ({"class": "a", "leaves": {}}, "it.leaves is not a list"),
        ({"class": "a", "leaves": [{"name": "a"}, {}]}, "it.leaves[1].'name' is missing"),
        ({"class": "a", "leaves": [{"name": "a", "size": True}]}, "it.leaves[0].size is not a num"),
        ({"class": "a", "by_name": {"x": []}}, "it.by_name.x is not true or false"),
        (
            {"class": "a", "by_name": {"x": 2**63}},
            "it.by_name.x is not a number of a sens",
        ),
        ({"class": "a", "inner": {"class": None}}, "it.inner.class is not a text"),
        ([], "it is not an object"),
    ],
)
def test_what_is_odd_is_refused_with_its_place(data: Any, message: str) -> None:
    with pytest.raises(Odd) as caught:
        Tree.from_json(data)
    assert str(caught.value).startswith(message)


def test_an_exact_reader_takes_the_fields_and_no_more() -> None:
    reader = Reader(is_exact=True)
    assert reader.read(Leaf, {"name": "a", "size": {"__float__": "Infinity"}}).size == float("inf")
    assert reader.read(Leaf, {"name": "a"}) == Leaf("a")  # written before there was a size
    for data in ({"size": None}, {"name": "a", "size": None, "more": 1}):
        with pytest.raises(Odd, match="is missing, or not known"):
            reader.read(Leaf, data)
