"""Structs to JSON and back: only what the types allow is decoded."""

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


class Tree(Document, frozen=True, rename={"class_name": "class"}):
    JSON = "class_name count leaves?leaves by_name inner?inner"

    class_name: str
    leaves: tuple[Leaf, ...] = ()
    by_name: Mapping[str, Scalar] = field(default_factory=dict)
    inner: "Tree | None" = None

    @property
    def count(self) -> int:
        return len(self.leaves)


def test_a_document_has_the_keys_and_the_order_of_its_class() -> None:
    tree = Tree("Oak", (Leaf("a", 1.5), Leaf("b")), {"x": 1, "y": None}, Tree("Elm"))
    assert json.dumps(tree.to_json()) == (
        '{"class": "Oak", "count": 2, '
        '"leaves": [{"name": "a", "size": 1.5}, {"name": "b", "size": null}], '
        '"by_name": {"x": 1, "y": null}, "inner": {"class": "Elm", "count": 0, "by_name": {}}}'
    )
    assert Tree.from_json(json.loads(json.dumps(tree.to_json()))) == tree


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "Object missing required field `class`"),
        ({"class": 1}, "Expected `str`, got `int` - at `$.class`"),
        (
            {"class": "a", "leaves": [{"name": "a"}, {}]},
            "Object missing required field `name` - at `$.leaves[1]`",
        ),
        (
            {"class": "a", "leaves": [{"name": "a", "sise": 1}]},
            "Object contains unknown field `sise` - at `$.leaves[0]`",
        ),
        ({"class": "a", "by_name": {"x": []}}, "Expected `bool | int | float | str | null`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_data_of_another_type_is_refused_with_its_location(data: Any, message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Tree.from_json(data)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    "value",
    [
        *(b'"\\ud800"', b'"\xff"', b"NaN", b"1e999", b'{"__float__": "1"}', b"1} {"),
        *(b"9223372036854775808", b"-9223372036854775808", b"9" * 5_000),
    ],
)
def test_invalid_json_and_numbers_out_of_range_are_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        decode(b'{"class": "a", "by_name": {"x": %s}}' % value, Tree)


def test_special_floats_and_long_fractions_are_decoded() -> None:
    text = b'{"name": "1234567890123456789012", "size": {"__float__": "Infinity"}}'
    assert decode(text, Leaf) == Leaf("1234567890123456789012", float("inf"))
    text = b'{"name": "", "size": 0.00012345678901234567}'
    assert decode(text, Leaf).size == 0.00012345678901234567
    assert parse(b"[9223372036854775807]") == [2**63 - 1]


def test_deep_nesting_is_an_error() -> None:
    with pytest.raises(RecursionError):
        parse(b"[" * 200_000)


def test_invalid_settings_have_their_defaults() -> None:
    data = {"class": "a", "leaves": 5, "by_name": {"x": 1}, "count": 3}
    assert convert_valid(data, Tree) == Tree("a", by_name={"x": 1})


class Word(PartialEquality, Struct, frozen=True):
    NOT_COMPARED = ("written",)

    text: str
    number: int = 0
    written: str = ""


def test_some_fields_are_not_compared() -> None:
    word = Word("a", 1, "A")
    assert word == replace(word, written="b")
    assert hash(word) == hash(replace(word, written="b"))
    assert word != replace(word, number=2)
    assert word != ("a", 1)
    assert repr(word) == "Word(text='a', number=1)"
    assert pickle.loads(pickle.dumps(word)).written == "A"


def test_the_number_of_containers_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization, "MAX_CONTAINERS", 3)
    text = '{"a": [[], "text"]}'
    for same in (text, text.encode(), text.encode("utf-16")):
        assert parse_lenient(same) == {"a": [[], "text"]}
    for more in ("[[], [], [], []]", '[{}, {"a": 1}, {}, {}]', b"[[[[]]]]"):
        with pytest.raises(ValueError, match="more than 3 objects and arrays"):
            parse_lenient(more)


MANY = b"[" + b"[]," * 4 + b"[]]"


def read_runs_file(file: Path) -> None:
    file.write_bytes(MAGIC + zlib.compress(len(MANY).to_bytes(8, "little") + MANY))
    read_runs(file)


def read_index_file(file: Path) -> None:
    file.write_bytes(MANY)
    read_index(file)


def read_tokenizer(file: Path) -> None:
    (file.parent / "tokenizer.json").write_text(json.dumps({"model": [[], [], [], []]}))
    ModelTokenizer(file.parent, {"model_type": "bert"}).tokenize(Sentence("a"))


@pytest.mark.parametrize("read", [read_runs_file, read_index_file, read_tokenizer])
def test_every_reader_has_the_limit(
    read: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serialization, "MAX_CONTAINERS", 4)
    with pytest.raises(UserError, match="more than 4 objects and arrays"):
        read(tmp_path / "file")


def test_one_record_beyond_the_limit_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serialization, "MAX_CONTAINERS", 4)
    file = tmp_path / "data.jsonl"
    file.write_bytes(MANY + b'\n{"text": "a cab"}\n')
    assert [record.text for record in records(file, None)] == [None, "a cab"]
