"""Records of data files: what is read, and why a record or a file is not."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from bertviewer.core.corpus import data_files
from bertviewer.core.corpus import parquet as parquet_files
from bertviewer.core.corpus import records as text_records
from bertviewer.core.corpus.data_files import scan, sentences
from bertviewer.core.corpus.records import records
from bertviewer.core.util.errors import Cancelled, UserError


def read(path: Path, column: str | None = None) -> list[str | None]:
    """Return the texts of a file, ``None`` for invalid records."""
    return [record.text for record in records(path, column)]


def problems(path: Path, column: str | None = None) -> list[tuple[str, str]]:
    return [(r.where, r.problem) for r in records(path, column) if r.text is None]


def parquet_bytes(column: Any = ("one",), name: str = "text", **options: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({name: column}), out, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", ["one", "two"]),
        (b"one\rtwo\r", ["one", "two"]),
        (b"one\r\r\ntwo", ["one", "two"]),  # a file that was converted twice
        (b"one\rtwo\nthree\r\n", ["one", "two", "three"]),
        (b"a\0b\n", ["a\0b"]),
        ("a\x85b\u2028c\n".encode(), ["a\x85b\u2028c"]),
        (b"\n\n", [None, None]),
        (b"x" * 1_000_000 + b"\none\n", [None, "one"]),
        (gzip.compress(b"one\nt", mtime=0) + gzip.compress(b"wo\n", mtime=0), ["one", "two"]),
    ],
)
def test_lines(tmp_path: Path, raw: bytes, texts: list[str | None]) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(raw)
    assert read(file) == texts


def test_problems_of_lines(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes("\ufeffone\r\n\nzwölf\n".encode() + b"\xff bad\nlast")
    assert read(file) == ["one", None, "zwölf", None, "last"]
    assert problems(file) == [("line 2", "it is empty"), ("line 4", "it is not UTF-8")]


@pytest.mark.parametrize("is_packed", [False, True])
def test_jsonl(tmp_path: Path, is_packed: bool) -> None:
    file = tmp_path / f"rows.jsonl{'.gz' if is_packed else ''}"
    lines = {
        '{"text": "one"}': "",
        '"plain"': "",
        "{": "it is not a complete JSON value",
        "[" * 100_000: "it is not a complete JSON value",
        '{"text": 3}': "it is not text",
        '{"text": null}': "it is not text",
        '{"text": {"a": 1}}': "it is not text",
        '{"text": ["x"]}': "it is not text",
        "9" * 5000: "it is not a complete JSON value",
        '{"other": "x"}': "it has no column 'text'",
        '{"text": "\\ud800"}': "it is not valid Unicode",
    }
    content = ("\n".join(lines) + "\n").encode()
    file.write_bytes(gzip.compress(content, mtime=0) if is_packed else content)
    assert read(file) == ["one", "plain", *[None] * (len(lines) - 2)]
    expected = [(f"line {n}", why) for n, why in enumerate(lines.values(), 1) if why]
    assert problems(file) == expected


def test_csv(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('id,body\n1,"two\nlines"\n2\n3,"a ""b"", c"\n', encoding="utf-8")
    assert read(file, "body") == ["two\nlines", None, 'a "b", c']
    assert problems(file, "body") == [("line 4", "it has 1 columns and not 2")]
    other = tmp_path / "rows.tsv"
    other.write_text("text\tid\none\t1\n", encoding="utf-8")
    assert read(other) == ["one"]
    file.write_bytes(b'text,id\rone,1\r"two\r\nlines",2\r')
    assert read(file) == ["one", "two\nlines"]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (["one", None, " ", "two"], ["one", None, None, "two"]),
        (pyarrow.array(["one", None], pyarrow.large_string()), ["one", None]),
        (pyarrow.array(["one", "two", "one"]).dictionary_encode(), ["one", "two", "one"]),
        (pyarrow.array(["one"] * 50), ["one"] * 50),
    ],
)
def test_parquet(tmp_path: Path, column: Any, texts: list[str | None]) -> None:
    file = tmp_path / "rows"  # its first bytes say what it is
    file.write_bytes(parquet_bytes(column, row_group_size=7))
    assert read(file) == texts
    if " " in column:
        assert problems(file) == [("row 2", "it is not text"), ("row 3", "it is empty")]


@pytest.mark.parametrize(
    "kind",
    [
        *(pyarrow.timestamp("ns", "Europe/Berlin"), pyarrow.int8(), pyarrow.float16()),
        *(pyarrow.bool_(), pyarrow.binary(), pyarrow.binary(4), pyarrow.null()),
        *(pyarrow.list_(pyarrow.string()), pyarrow.struct({"text": pyarrow.string()})),
        pyarrow.map_(pyarrow.string(), pyarrow.string()),
    ],
    ids=str,
)
def test_a_column_of_parquet_that_is_not_text(tmp_path: Path, kind: Any) -> None:
    file = tmp_path / "rows.parquet"
    file.write_bytes(parquet_bytes(pyarrow.array([None], kind), "when"))
    with pytest.raises(UserError, match=r"rows\.parquet: the column 'when' holds .* and not text"):
        read(file, "when")


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "none", "data_page_size": 64},
        {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False, "compression": "zstd", "write_page_index": True},
        {"dictionary_pagesize_limit": 100, "row_group_size": 50},
    ],
)
@pytest.mark.parametrize("is_large", [False, True])
def test_encodings_of_parquet(
    tmp_path: Path, options: dict[str, Any], is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:  # treat the pages as large ones
        monkeypatch.setattr(parquet_files, "_LARGE_DICTIONARY", 10)
        monkeypatch.setattr(parquet_files, "MAX_PIECE", 1000)
    texts: list[str | None] = ["one", None, "two " * 20, *(f"text {n % 70}" for n in range(200))]
    file = tmp_path / "rows.parquet"
    nested = [{"a.b": [1] * (n % 3)} for n in range(len(texts))]
    parquet.write_table(pyarrow.table({"nested": nested, "text": texts}), file, **options)
    assert read(file) == texts


def test_batches_of_parquet_are_small_though_a_text_is_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rows.parquet"
    file.write_bytes(parquet_bytes(["x" * 3000] * 50))
    # The page of a dictionary limits the size of any value, and so the number of rows.
    monkeypatch.setattr(parquet_files, "MAX_PIECE", 20_000)
    with file.open("rb") as opened:
        found = list(parquet_files.batches(parquet_files.open_parquet(opened), opened, ["text"]))
    assert [piece.num_rows for piece in found] == [6] * 8 + [2]
    monkeypatch.setattr(parquet_files, "MAX_PAGE", 2000)
    with pytest.raises(UserError, match=r"not a valid Parquet file: one of its pages has 3,004 by"):
        read(file)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("rows.jsonl", json.dumps({"a": "x", "b": "y"}).encode() + b"\n"),
        ("rows.csv", b"a,b\nx,y\n"),
        ("rows.parquet", None),
    ],
)
def test_a_missing_column(tmp_path: Path, name: str, raw: bytes | None) -> None:
    file = tmp_path / name
    if raw is None:
        parquet.write_table(pyarrow.table({"a": ["x"], "b": ["y"]}), file)
    else:
        file.write_bytes(raw)
    message = rf"{name}: no column 'text' \(--column\); its columns are 'a', 'b'"
    with pytest.raises(UserError, match=message):
        read(file)
    assert read(file, "b") == ["y"]


PACKED = r"it is compressed as .*, which is not supported; decompress it first"
UTF16 = "its text is UTF-16; save it as UTF-8"


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("empty.txt", b"", "the file is empty"),
        ("blank.txt", b"\n\n", "there is no sentence; line 1: it is empty"),
        (
            "a.gz",
            gzip.compress(b"one\ntwo\n" * 999, mtime=0)[:-20],
            "its gzip data is truncated or corrupt",
        ),
        ("a.parquet", b"PAR1 and nothing else", "not a valid Parquet file"),
        ("a.parquet", parquet_bytes()[:-9], "not a valid Parquet file"),
        (
            "a.gz",
            gzip.compress(parquet_bytes(), mtime=0),
            "Parquet files are compressed internally",
        ),
        ("a.csv", b"text,text\none,two\n", "it has 2 columns 'text'"),
        ("a.json", b'[{"text": "one"}]', "there is no sentence; line 1: it is not text"),
        ("a.txt", "one\n".encode("utf-16"), UTF16),
        ("a.txt", "one\n".encode("utf-16-le"), UTF16),
        ("a.txt.gz", gzip.compress("one\n".encode("utf-16"), mtime=0), UTF16),
        ("a.csv.gz", gzip.compress("text\none\n".encode("utf-16-be"), mtime=0), UTF16),
        *(
            ("a.txt", head + b"whatever", PACKED)
            for head in (
                b"\x28\xb5\x2f\xfd",
                b"BZh91AY&SY",
                b"\xfd7zXZ",
                b"PK\x03\x04",
                b"\x04\x22\x4d\x18",
            )
        ),
        ("", None, "it is a folder"),
        ("none", None, "No such file or directory"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, name: str, raw: bytes | None, reason: str) -> None:
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    with pytest.raises(UserError, match=reason):
        scan([(tmp_path / name, name)], None)


def test_a_quotation_mark_that_is_not_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_records, "MAX_BYTES", 500)
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(b'id,text\n1,"a\nb"\n2,"one\n' + b"3,two\n" * 1000, mtime=0))
    message = "the record that begins in line 4 has more than 500 characters; is a quotation mark"
    with pytest.raises(UserError, match=message):
        read(file)
    file.write_bytes(gzip.compress(b"id,text\n" + b"3,two\n" * 1000, mtime=0))
    assert read(file) == ["two"] * 1000


@pytest.mark.parametrize("name", ["x.txt.gz", "x.csv.gz", "x.jsonl.gz"])
def test_a_line_without_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_records, "MAX_BYTES", 1000)
    monkeypatch.setattr(text_records, "MAX_SKIPPED", 5000)
    file = tmp_path / name
    file.write_bytes(gzip.compress(b'"text"\n' + b"a" * 4900 + b"\na cab\n", mtime=0))
    assert scan([(file, name)], None)[0].invalid > 0
    file.write_bytes(gzip.compress(b'"text"\n' + b"a" * 7000 + b"\na cab\n", mtime=0))
    with pytest.raises(UserError, match=f"^{name}: line 2 has more than 5,000 bytes$"):
        scan([(file, name)], None)


@pytest.mark.parametrize("line", ["\n", " \n", "[[[\n"])
def test_too_many_invalid_records_in_a_row(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_files, "MAX_IN_A_ROW", 20)
    file = tmp_path / "x.jsonl"
    file.write_text(line * 20 + '"a cab"\n' + line * 20, encoding="utf-8")
    (found,) = scan([(file, file.name)], None)
    assert (found.sentences, found.invalid >= 40) == (1, True)
    file.write_text('"a cab"\n' + line * 22, encoding="utf-8")
    with pytest.raises(UserError, match="more than 20 records one after the other cannot be read"):
        scan([(file, file.name)], None)


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl", "a.parquet", "a.txt.gz"])
def test_cancelling_within_a_record(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_records, "_STEP", 100)
    monkeypatch.setattr(text_records, "MAX_BYTES", 1000)

    def stop(done: int, total: int, label: str) -> None:
        assert (total, label) == (1000, f"Reading {name}")
        assert 0 <= done <= total
        raise Cancelled

    content = b'"' + b"a,\n" * 100 + b"x" * 5000
    packed = {".gz": gzip.compress(content, mtime=0), ".parquet": parquet_bytes()}
    (tmp_path / name).write_bytes(packed.get(Path(name).suffix, content))
    with pytest.raises(Cancelled):
        list(records(tmp_path / name, None, name, stop))


def test_sentences_are_numbered_through_all_files(tmp_path: Path) -> None:
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


def test_a_file_that_changes_after_it_was_scanned(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("a\nb\n", encoding="utf-8")
    files = scan([(file, file.name)], None)
    file.write_text("a\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"lines\.txt: the file changed while it was being read"):
        list(sentences(files, None, 0, 2))
