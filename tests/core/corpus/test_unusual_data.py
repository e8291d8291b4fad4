"""Data that are not what they seem: each costs a line, or is told in one."""

import gzip
import io
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from bertviewer.core.corpus import data_files
from bertviewer.core.corpus import parquet as parquet_files
from bertviewer.core.corpus import records as text_records
from bertviewer.core.corpus.batches import token_limit
from bertviewer.core.corpus.data_files import scan
from bertviewer.core.corpus.making import SINGLE_PROCESS, CorpusRequest, make_corpus
from bertviewer.core.corpus.options import MAX_TOKENS, CorpusOptions
from bertviewer.core.corpus.plan import SHARDS_FOLDER
from bertviewer.core.corpus.reading import read_corpus, read_manifest
from bertviewer.core.corpus.records import records
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.saved_runs.file_format import read_runs
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import no_progress
from tests.core.corpus.making_corpora import content, made
from tests.core.saved_runs.saved_runs import run_file, write

CAT = "the cat sat"


def read(path: Path) -> list[str | None]:
    return [record.text for record in records(path, None)]


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", ["one", "two"]),
        (b"one\rtwo\r", ["one", "two"]),
        (b"one\r\r\ntwo", ["one", "two"]),  # as of a file that was converted twice
        (b"one\rtwo\nthree\r\n", ["one", "two", "three"]),
        (b"a\0b\n", ["a\0b"]),
        ("a\x85b\u2028c\n".encode(), ["a\x85b\u2028c"]),
        (b"\n\n", [None, None]),
        (b"x" * 1_000_000 + b"\none\n", [None, "one"]),
    ],
)
def test_lines(tmp_path: Path, raw: bytes, texts: list[str | None]) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(raw)
    assert read(file) == texts


def test_lines_of_csv_end_in_any_way(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b'text,id\rone,1\r"two\r\nlines",2\r')
    assert read(file) == ["one", "two\nlines"]


def test_odd_json(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = ['{"text": null}', '{"text": {"a": 1}}', '{"text": ["x"]}', "[" * 100_000, "9" * 5000]
    file.write_text("\n".join([*rows, '{"text": "one"}']) + "\n", encoding="utf-8")
    assert read(file) == [None] * len(rows) + ["one"]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (pyarrow.array(["one", None], pyarrow.large_string()), ["one", None]),
        (pyarrow.array(["one", "two", "one"]).dictionary_encode(), ["one", "two", "one"]),
        (pyarrow.array(["one"] * 50), ["one"] * 50),
    ],
)
def test_columns_of_parquet(tmp_path: Path, column: Any, texts: list[str | None]) -> None:
    file = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"text": column}), file, row_group_size=7)
    assert read(file) == texts


@pytest.mark.parametrize(
    "kind",
    [
        *(pyarrow.timestamp("us"), pyarrow.timestamp("ns", "Europe/Berlin"), pyarrow.date32()),
        *(pyarrow.date64(), pyarrow.time64("ns"), pyarrow.duration("ms"), pyarrow.int8()),
        *(pyarrow.decimal128(9, 2), pyarrow.float16(), pyarrow.bool_(), pyarrow.binary()),
        *(pyarrow.binary(4), pyarrow.null(), pyarrow.list_(pyarrow.string())),
        pyarrow.struct({"text": pyarrow.string()}),
        pyarrow.map_(pyarrow.string(), pyarrow.string()),
    ],
    ids=str,
)
def test_a_column_of_parquet_that_is_no_text(tmp_path: Path, kind: Any) -> None:
    file = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"when": pyarrow.array([None], kind)}), file)
    with pytest.raises(UserError, match=r"rows\.parquet: the column 'when' holds .* and not text"):
        list(records(file, "when"))


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
@pytest.mark.parametrize("large", [False, True])
def test_how_parquet_is_written(
    tmp_path: Path, options: dict[str, Any], large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:  # what is done with pages that are large
        monkeypatch.setattr(parquet_files, "_LARGE_DICTIONARY", 10)
        monkeypatch.setattr(parquet_files, "MAX_PIECE", 1000)
    texts: list[str | None] = ["one", None, "two " * 20, *(f"text {n % 70}" for n in range(200))]
    file = tmp_path / "rows.parquet"
    nested = [{"a.b": [1] * (n % 3)} for n in range(len(texts))]
    parquet.write_table(pyarrow.table({"nested": nested, "text": texts}), file, **options)
    assert read(file) == texts


def test_a_text_that_is_stored_once_and_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of a dictionary says how large any value can be, and so how many are read."""
    file = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"text": ["x" * 3000] * 50}), file)
    monkeypatch.setattr(parquet_files, "MAX_PIECE", 20_000)
    with file.open("rb") as opened:
        found = list(parquet_files.batches(parquet_files.open_parquet(opened), opened, ["text"]))
    assert [piece.num_rows for piece in found] == [6] * 8 + [2]
    monkeypatch.setattr(parquet_files, "MAX_PAGE", 2000)
    with pytest.raises(
        UserError, match=r"not a valid Parquet file: one of its pages has 3,004 bytes"
    ):
        read(file)


def test_a_quote_that_is_not_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_records, "MAX_BYTES", 500)
    file = tmp_path / "rows.csv.gz"
    rows = b'id,text\n1,"a\nb"\n2,"one\n' + b"3,two\n" * 1000
    file.write_bytes(gzip.compress(rows))
    said = "the record that begins in line 4 has more than 500 characters; is a quotation mark not"
    with pytest.raises(UserError, match=said):
        read(file)
    file.write_bytes(gzip.compress(b"id,text\n" + b"3,two\n" * 1000))
    assert read(file) == ["two"] * 1000


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl", "a.parquet", "a.txt.gz"])
def test_progress_in_the_middle_of_a_record(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so it can be stopped there."""
    monkeypatch.setattr(text_records, "_STEP", 100)
    monkeypatch.setattr(text_records, "MAX_BYTES", 1000)

    def stop(done: int, total: int, label: str) -> None:
        assert (total, label) == (1000, f"Reading {name}")
        assert 0 <= done <= total
        raise Cancelled

    file = tmp_path / name
    content = b'"' + b"a,\n" * 100 + b"x" * 5000
    file.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    if name.endswith("parquet"):
        file.write_bytes(parquet_bytes())
    with pytest.raises(Cancelled):
        list(records(file, None, name, stop))


@pytest.mark.parametrize(
    "head", [b"\x28\xb5\x2f\xfd", b"BZh91AY&SY", b"\xfd7zXZ", b"PK\x03\x04", b"\x04\x22\x4d\x18"]
)
def test_how_data_may_not_be_packed(tmp_path: Path, head: bytes) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(head + b"whatever")
    with pytest.raises(
        UserError, match=r"it is compressed as .*, which is not supported; decompress it first"
    ):
        read(file)


def test_members_of_a_gzip(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt.gz"
    file.write_bytes(gzip.compress(b"one\nt") + gzip.compress(b"wo\n"))
    assert read(file) == ["one", "two"]


def parquet_bytes() -> bytes:
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": ["one"]}), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("a.csv", b"text,text\none,two\n", "it has 2 columns 'text'"),
        ("a.txt", "one\n".encode("utf-16"), "its text is UTF-16; save it as UTF-8"),
        ("a.txt.gz", gzip.compress("one\n".encode("utf-16"), mtime=0), "its text is UTF-16"),
        ("a.txt", "one\n".encode("utf-16-le"), "its text is UTF-16"),
        (
            "a.csv.gz",
            gzip.compress("text\none\n".encode("utf-16-be"), mtime=0),
            "its text is UTF-16",
        ),
        (
            "a.gz",
            gzip.compress(parquet_bytes(), mtime=0),
            "Parquet files are compressed internally",
        ),
        ("a.parquet", parquet_bytes()[:-9], "not a valid Parquet file"),
        ("a.json", b'[{"text": "one"}]', "there is no sentence; line 1: it is not text"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, raw: bytes, said: str) -> None:
    file = tmp_path / name
    file.write_bytes(raw)
    with pytest.raises(UserError, match=said):
        scan([(file, name)], None)


def test_a_file_that_grows_while_it_is_run(model: LoadedModel, data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "lines.txt"
    copy.write_bytes(data.read_bytes())

    def grow(done: int, total: int, label: str) -> None:
        if label.startswith("Sentence"):
            with copy.open("a", encoding="utf-8") as file:
                file.write("more\n")

    with pytest.raises(UserError, match=r"lines\.txt: the file changed while it was being read"):
        made(model, copy, tmp_path / "out", progress=grow)


def test_the_standard_input_is_read_once(model: LoadedModel, tmp_path: Path) -> None:
    def run(*names: str, stdin: bytes = b"the cat\n") -> None:
        wish = CorpusRequest(tuple(map(Path, names)), CorpusOptions(), tmp_path, "")
        make_corpus(model, wish, no_progress, SINGLE_PROCESS, io.BytesIO(stdin))

    with pytest.raises(UserError, match="-: standard input can be read only once"):
        run("-", "-")
    run("-")
    before = content(tmp_path)
    run("-")
    assert content(tmp_path) == before
    with pytest.raises(UserError, match="already holds another corpus"):
        run("-", stdin=b"the mat\n")
    assert content(tmp_path) == before


def test_a_folder_that_is_called_as_that_of_the_shards(model: LoadedModel, tmp_path: Path) -> None:
    """Nothing in it may be taken away in the end."""
    file = tmp_path / SHARDS_FOLDER / "rows.txt"
    file.parent.mkdir()
    file.write_text(f"{CAT}\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"shards: the folder contains other files, such as rows\.txt"
    ):
        made(model, file, tmp_path)
    assert file.exists()


class TestLinesThatCannotBeRun:
    """They are counted, and the others are run."""

    @pytest.fixture
    def lines(self, tmp_path: Path) -> Path:
        file = tmp_path / "lines.txt"
        file.write_text(f"{CAT}\n{'[SEP] ' * 80}\n{CAT}\n", encoding="utf-8")
        return file

    def test_special_tokens_that_were_typed_are_cut_as_text(
        self, model: LoadedModel, lines: Path, tmp_path: Path
    ) -> None:
        found = made(model, lines, tmp_path / "out")
        assert found is not None
        assert (found.sentences, found.manifest["unread"], found.manifest["cut"]) == (3, 0, 1)

    @pytest.mark.parametrize(("side", "kept"), [(False, "cat sat"), (True, "sat cat")])
    def test_the_side_that_the_tokenizer_says_is_cut(
        self,
        side: bool,
        kept: str,
        model: LoadedModel,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        tokenizer = model.tokenizer()
        monkeypatch.setattr(tokenizer, "keeps_end", side)
        file, whole = tmp_path / "lines.txt", tmp_path / "whole.txt"
        file.write_text(f"cat sat {'cat ' * 3}sat cat\n", encoding="utf-8")
        whole.write_text(f"{kept}\n", encoding="utf-8")
        choices = CorpusOptions(shards=1, max_tokens=4)
        for each in (file, whole):
            assert made(model, each, tmp_path / each.stem, choices) is not None
        statistics = [content(tmp_path / each)["statistics.parquet"] for each in ("lines", "whole")]
        assert statistics[0] == statistics[1]

    def test_a_tokenizer_that_fails(
        self,
        model: LoadedModel,
        lines: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        tokenizer = model.tokenizer()
        encode_each = tokenizer.encode_each
        monkeypatch.setattr(
            tokenizer,
            "encode_each",
            lambda texts, *others: [*encode_each(texts, *others)[:-1], "it fails"],
        )
        found = made(model, lines, tmp_path / "out", CorpusOptions(shards=1))
        assert found is not None
        assert (found.sentences, found.manifest["unread"]) == (2, 1)

    def test_all_of_them(self, model: LoadedModel, data: Path, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"no sentence could be run: .* --max-tokens leaves no"):
            made(model, data, tmp_path, CorpusOptions(limit=5, max_tokens=2))


def test_a_book_in_a_line_is_cut() -> None:
    """Its attention would take all memory, of a model that sets no limit."""
    assert token_limit({}, None) == MAX_TOKENS
    assert token_limit({"max_position_embeddings": 10**6}, None) == MAX_TOKENS
    assert token_limit({"max_position_embeddings": 10**6}, 9000) == 9000
    assert token_limit({"max_position_embeddings": 64}, 9000) == 64


@pytest.mark.parametrize("name", ["x.txt.gz", "x.csv.gz", "x.jsonl.gz"])
def test_a_line_without_an_end_is_not_followed_for_ever(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_records, "MAX_BYTES", 1000)
    monkeypatch.setattr(text_records, "MAX_SKIPPED", 5000)
    file = tmp_path / name
    file.write_bytes(gzip.compress(b'"text"\n' + b"a" * 4900 + b"\na cab\n"))
    assert scan([(file, name)], None)[0].invalid > 0
    file.write_bytes(gzip.compress(b'"text"\n' + b"a" * 7000 + b"\na cab\n"))
    with pytest.raises(UserError, match=f"^{name}: line 2 has more than 5,000 bytes$"):
        scan([(file, name)], None)


@pytest.mark.parametrize("line", ["\n", " \n", "[[[\n"])
def test_a_file_of_nothing_but_bad_records_is_given_up(
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


def test_names_that_are_not_utf_8(folder: Path, data: Path, tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"\xff")
    place.mkdir()
    named = shutil.copy(data, place / os.fsdecode(b"lines\xfe.txt"))
    own = open_model(parse_source(str(shutil.copytree(folder, place / "model"))))
    out = tmp_path / "out"
    corpus = made(own, Path(named), out)
    assert corpus is not None
    assert read_corpus(out).sentences == corpus.sentences
    (told,) = read_manifest(out)["data"]
    assert told["name"] == "lines?.txt"
    run = run_sentence(own, Sentence("the cat"))
    write(tmp_path / "x.bertviewer", run_file(own, run))
    assert read_runs(tmp_path / "x.bertviewer").run.tokens == run.tokens
