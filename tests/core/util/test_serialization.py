"""Structs to JSON and back; nothing is read that the types do not name."""

import json
import pickle
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, ValidationError, field
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import read_index
from bertviewer.core.corpus.records import records
from bertviewer.core.saved_runs.file_format import MAGIC, read_runs
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.util import serialization
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import (
    Document,
    PartialEquality,
    Scalar,
    convert_valid,
    decode,
    parse,
    parse_lenient,
)


class Leaf(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    size: float | None = None


class Empty(Struct, frozen=True):
    name: str = ""
    size: int = 0


class Tree(Document, frozen=True, rename={"class_name": "class"}):
    JSON = "class_name count leaves?leaves by_name inner?inner"

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
        ({}, "Object missing required field `class`"),
        ({"class": 1}, "Expected `str`, got `int` - at `$.class`"),
        ({"class": "a", "leaves": {}}, "Expected `array`, got `object` - at `$.leaves`"),
        (
            {"class": "a", "leaves": [{"name": "a"}, {}]},
            "Object missing required field `name` - at `$.leaves[1]`",
        ),
        (
            {"class": "a", "leaves": [{"name": "a", "sise": 1}]},
            "Object contains unknown field `sise` - at `$.leaves[0]`",
        ),
        (
            {"class": "a", "leaves": [{"name": "a", "size": True}]},
            "Expected `float | null`, got `bool` - at `$.leaves[0].size`",
        ),
        ({"class": "a", "by_name": {"x": []}}, "Expected `bool | int | float | str | null`"),
        ({"class": "a", "inner": {"class": None}}, "Expected `str`, got `null` - at `$.inner.c"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_data_of_another_type_is_refused_with_its_place(data: Any, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Tree.from_json(data)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        b'{"class": "\\ud800"}',
        b'{"class": "\xff"}',
        b'{"class": "a", "by_name": {"x": 9223372036854775808}}',
        b'{"class": "a", "by_name": {"x": -9223372036854775808}}',
        b'{"class": "a", "by_name": {"x": %s}}' % (b"9" * 5_000),
        b'{"class": "a", "by_name": {"x": NaN}}',
        b'{"class": "a", "by_name": {"x": 1e999}}',
        b'{"class": "a", "by_name": {"x": {"__float__": "1"}}}',
        b'{"class": "a"} {}',
        b"",
    ],
)
def test_a_document_that_is_not_json_or_has_odd_numbers_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        decode(text, Tree)


def test_a_document_may_have_special_floats_and_long_fractions() -> None:
    text = b'{"name": "1234567890123456789012", "size": {"__float__": "Infinity"}}'
    assert decode(text, Leaf) == Leaf("1234567890123456789012", float("inf"))
    assert (
        decode(b'{"name": "", "size": 0.00012345678901234567}', Leaf).size == 0.00012345678901234567
    )
    assert parse(b"[9223372036854775807]") == [2**63 - 1]


def test_deep_nesting_is_an_error_and_ends_no_process() -> None:
    with pytest.raises(RecursionError):
        parse(b"[" * 200_000)


def test_of_settings_the_valid_values_are_taken() -> None:
    data = {"class": "a", "leaves": 5, "by_name": {"x": 1}, "count": 3}
    assert convert_valid(data, Tree) == Tree("a", by_name={"x": 1})
    assert convert_valid([], Empty) == Empty()
    assert convert_valid({"size": "1", "name": "b"}, Empty) == Empty("b")


class Word(PartialEquality, Struct, frozen=True):
    NOT_COMPARED = ("written",)

    text: str
    number: int = 0
    written: str = ""


def test_only_the_other_fields_are_compared() -> None:
    word = Word("a", 1, "A")
    assert word == replace(word, written="b")
    assert hash(word) == hash(replace(word, written="b"))
    assert word != replace(word, number=2)
    assert word != ("a", 1)
    assert repr(word) == "Word(text='a', number=1)"
    assert pickle.loads(pickle.dumps(word)).written == "A"


def test_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization, "MAX_CONTAINERS", 3)
    text = '{"a": [[], "text"]}'
    for same in (text, text.encode(), text.encode("utf-16")):
        assert parse_lenient(same) == {"a": [[], "text"]}
    for more in ("[[], [], [], []]", '[{}, {"a": 1}, {}, {}]', b"[[[[]]]]"):
        with pytest.raises(ValueError, match="more than 3 objects and arrays"):
            parse_lenient(more)


MANY = b"[" + b"[]," * 4 + b"[]]"


def run_file(file: Path) -> None:
    file.write_bytes(MAGIC + zlib.compress(len(MANY).to_bytes(8, "little") + MANY))
    read_runs(file)


def index(file: Path) -> None:
    file.write_bytes(MANY)
    read_index(file)


def tokenizer(file: Path) -> None:
    (file.parent / "tokenizer.json").write_text(json.dumps({"model": [[], [], [], []]}))
    ModelTokenizer(file.parent, {"model_type": "bert"}).tokenize(Sentence("a"))


@pytest.mark.parametrize("read", [run_file, index, tokenizer])
def test_each_reader_has_the_limit(
    read: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serialization, "MAX_CONTAINERS", 4)
    with pytest.raises(UserError, match="more than 4 objects and arrays"):
        read(tmp_path / "file")


def test_a_record_that_has_too_many_costs_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serialization, "MAX_CONTAINERS", 4)
    file = tmp_path / "data.jsonl"
    file.write_bytes(MANY + b'\n{"text": "a cab"}\n')
    assert [record.text for record in records(file, None)] == [None, "a cab"]
