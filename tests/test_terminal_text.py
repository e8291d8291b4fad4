"""Texts of strangers move no terminal's cursor, whatever command shows them."""

import json
import shutil
from pathlib import Path

import pytest

from bertviewer.app import main

EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202enext"


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return a model that has such texts in its path, its configuration and its vocabulary."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / EVIL))
    config = json.loads((folder / "config.json").read_text())
    config |= {EVIL: EVIL, "id2label": {"0": EVIL, "1": "fine"}}
    (folder / "config.json").write_text(json.dumps(config))
    words = (folder / "vocab.txt").read_text().replace("\n[UNK]\n", f"\n{EVIL}\n")
    (folder / "vocab.txt").write_text(words)
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "unk_token": EVIL})
    )
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("summary", "--format", "text", "--parameters"),
        ("summary", "--format", "markdown", "--parameters"),
        ("summary", "--format", "csv", "--parameters"),
        ("summary", "--format", "json"),
        ("run", "a test 名"),
        ("run", "a test 名", "--format", "json"),
        ("compare", "bert-base-uncased"),
        ("compare", "bert-base-uncased", "--format", "json"),
    ],
    ids=" ".join,
)
def test_results_are_plain(
    arguments: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([arguments[0], str(folder), *arguments[1:]]) == 0
    out = capsys.readouterr().out
    assert all(line.isprintable() for line in out.split("\n"))
    if "json" in arguments:
        assert EVIL in json.dumps(json.loads(out), ensure_ascii=False).replace(
            json.dumps(EVIL, ensure_ascii=False)[1:-1], EVIL
        )
    elif "csv" not in arguments:
        assert "\\x1b" in out


def test_errors_are_plain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.json").write_text("{")
    assert main(["summary", str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
