"""Data in files: what is read, and what is told of what cannot be."""

import gzip
import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from bertviewer.core.corpus.data_files import scan, sentences
from bertviewer.core.corpus.records import records
from bertviewer.core.util.errors import UserError


def texts(path: Path, column: str | None = None) -> list[str]:
    return [record.text for record in records(path, column) if record.text is not None]


def left_out(path: Path, column: str | None = None) -> list[tuple[str, str]]:
    return [(r.where, r.problem) for r in records(path, column) if r.text is None]


def test_lines(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes("\ufeffone\r\n\nzwölf\n".encode() + b"\xff bad\nlast")
    assert texts(file) == ["one", "zwölf", "last"]
    assert left_out(file) == [("line 2", "it is empty"), ("line 4", "it is not UTF-8")]


@pytest.mark.parametrize("packed", [False, True])
def test_jsonl(tmp_path: Path, packed: bool) -> None:
    file = tmp_path / f"rows.jsonl{'.gz' if packed else ''}"
    rows = [
        '{"text": "one"}',
        "{",
        '{"text": 3}',
        '{"other": "x"}',
        '"plain"',
        '{"text": "\\ud800"}',
    ]
    content = ("\n".join(rows) + "\n").encode()
    file.write_bytes(gzip.compress(content) if packed else content)
    assert texts(file) == ["one", "plain"]
    assert left_out(file) == [
        ("line 2", "it is not a complete JSON value"),
        ("line 3", "it is not text"),
        ("line 4", "it has no column 'text'"),
        ("line 6", "it is not valid Unicode"),
    ]


def test_csv(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('id,body\n1,"two\nlines"\n2\n3,"a ""b"", c"\n', encoding="utf-8")
    assert texts(file, "body") == ["two\nlines", 'a "b", c']
    assert left_out(file, "body") == [("line 4", "it has 1 columns and not 2")]
    other = tmp_path / "rows.tsv"
    other.write_text("text\tid\none\t1\n", encoding="utf-8")
    assert texts(other) == ["one"]


def test_parquet(tmp_path: Path) -> None:
    file = tmp_path / "rows"  # what it is stands in its first bytes
    parquet.write_table(pyarrow.table({"text": ["one", None, " ", "two"]}), file)
    assert texts(file) == ["one", "two"]
    assert left_out(file) == [("row 2", "it is not text"), ("row 3", "it is empty")]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.parquet"])
def test_a_column_that_is_missing(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if name.endswith("jsonl"):
        file.write_text(json.dumps({"a": "x", "b": "y"}) + "\n", encoding="utf-8")
    elif name.endswith("csv"):
        file.write_text("a,b\nx,y\n", encoding="utf-8")
    else:
        parquet.write_table(pyarrow.table({"a": ["x"], "b": ["y"]}), file)
    said = rf"{name}: no column 'text' \(--column\); its columns are 'a', 'b'"
    with pytest.raises(UserError, match=said):
        texts(file)
    assert texts(file, "b") == ["y"]


def test_what_is_no_data(tmp_path: Path) -> None:
    empty, cut, broken = tmp_path / "empty.txt", tmp_path / "cut.gz", tmp_path / "bad.parquet"
    empty.touch()
    cut.write_bytes(gzip.compress(b"one\ntwo\n" * 999)[:-20])
    broken.write_bytes(b"PAR1 and nothing of it")
    blank = tmp_path / "blank.txt"
    blank.write_text("\n\n", encoding="utf-8")
    for path, said in (
        (empty, "the file is empty"),
        (cut, "its gzip data is truncated or corrupt"),
        (broken, "not a valid Parquet file"),
        (tmp_path, "it is a folder"),
        (tmp_path / "none", "No such file or directory"),
        (blank, "there is no sentence; line 1: it is empty"),
    ):
        with pytest.raises(UserError, match=said):
            scan([(path, path.name)], None)


def test_numbers_of_sentences_go_through_all_files(tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.jsonl"
    first.write_text("a\n\nb\nc\n", encoding="utf-8")
    second.write_text('{"text": "d"}\n{"text": "e"}\n', encoding="utf-8")
    places = [(first, first.name), (second, second.name)]
    files = scan(places, None)
    assert [(file.sentences, file.invalid) for file in files] == [(3, 1), (2, 0)]
    assert list(sentences(files, None, 0, 5)) == ["a", "b", "c", "d", "e"]
    assert list(sentences(files, None, 2, 4)) == ["c", "d"]
    few = scan(places, None, limit=2)
    assert [file.sentences for file in few] == [2, 0]
    assert list(sentences(few, None, 0, 2)) == ["a", "b"]


def test_a_file_that_was_changed_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("a\nb\n", encoding="utf-8")
    files = scan([(file, file.name)], None)
    file.write_text("a\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"lines\.txt: the file changed while it was being read"):
        list(sentences(files, None, 0, 2))
