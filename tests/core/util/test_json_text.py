"""Documents that would take far more memory than bytes are refused before they are read."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.core.checkpoints.finding import read_index
from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.corpus.records import records
from bertviewer.core.saved_runs.reading import read_runs
from bertviewer.core.saved_runs.writing import MAGIC
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.util import json_text
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.json_text import loads


def test_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "MOST_CONTAINERS", 3)
    text = '{"a": [[], "text"]}'
    for same in (text, text.encode(), text.encode("utf-16")):
        assert loads(same) == {"a": [[], "text"]}
    for more in ("[[], [], [], []]", '[{}, {"a": 1}, {}, {}]', b"[[[[]]]]"):
        with pytest.raises(ValueError, match="more than 3 objects and arrays"):
            loads(more)


MANY = b"[" + b"[]," * 4 + b"[]]"


def run_file(file: Path) -> None:
    file.write_bytes(MAGIC + zlib.compress(len(MANY).to_bytes(8, "little") + MANY))
    read_runs(file)


def header(file: Path) -> None:
    text = b'{"a": ' + MANY + b"}"
    file.write_bytes(len(text).to_bytes(8, "little") + text)
    read_header(file)


def index(file: Path) -> None:
    file.write_bytes(MANY)
    read_index(file)


def tokenizer(file: Path) -> None:
    (file.parent / "tokenizer.json").write_text(json.dumps({"model": [[], [], [], []]}))
    ModelTokenizer(file.parent, {"model_type": "bert"}).tokenize(Sentence("a"))


@pytest.mark.parametrize("read", [run_file, header, index, tokenizer])
def test_each_reader_has_the_limit(
    read: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_text, "MOST_CONTAINERS", 4)
    with pytest.raises(UserError, match="more than 4 objects and arrays"):
        read(tmp_path / "file")


def test_a_record_that_has_too_many_costs_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_text, "MOST_CONTAINERS", 4)
    file = tmp_path / "data.jsonl"
    file.write_bytes(MANY + b'\n{"text": "a cab"}\n')
    assert [record.text for record in records(file, None)] == [None, "a cab"]
