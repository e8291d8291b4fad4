"""The command ``corpus``, and ``compare`` and ``report`` with corpora."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Printed

FILES = ["features.safetensors", "manifest.json", "statistics.parquet"]


def contents(folder: Path) -> list[bytes]:
    """Return the statistics of a corpus."""
    return [(folder / name).read_bytes() for name in FILES[::2]]


def test_output_and_files(
    tiny_bert_folder: Path, data: Path, elsewhere: Path, printed: Printed
) -> None:
    (elsewhere / data.name).write_bytes(data.read_bytes())
    assert printed("corpus", tiny_bert_folder, data.name, "-o", "out").splitlines()[1:] == [
        "3 sentences · 17 tokens · 1 shard",
        "Skipped: 1 line that could not be read",
        "  lines.txt, line 3: it is empty",
    ]
    folder = elsewhere / "out"
    assert sorted(file.name for file in folder.iterdir()) == FILES
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["schema"] == "bertviewer.corpus/1"
    command = f"bertviewer corpus {tiny_bert_folder} lines.txt -o out --task base"
    assert manifest["command"] == command
    assert set(manifest["versions"]) >= {"bertviewer", "torch", "transformers"}
    assert set(manifest["model"]["files"]) >= {"model.safetensors", "vocab.txt"}
    assert len(manifest["data"][0]["sha256"]) == 64


def test_offloading_and_standard_input_change_nothing(
    tiny_bert_folder: Path,
    data: Path,
    tmp_path: Path,
    printed: Printed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, offloaded, stdin = (tmp_path / name for name in ("plain", "offloaded", "stdin"))
    printed("corpus", tiny_bert_folder, data, "-o", plain)
    printed("corpus", tiny_bert_folder, data, "-o", offloaded, "--offload")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.read_bytes())))
    printed("corpus", tiny_bert_folder, "-", "-o", stdin)
    assert contents(plain) == contents(offloaded) == contents(stdin)
    one, other = (
        json.loads((folder / FILES[1]).read_text("utf-8")) for folder in (plain, offloaded)
    )
    assert one.keys() == other.keys()
    assert {key for key in one if one[key] != other[key]} <= {"command"}
    assert "0.0000" in printed("compare", plain, stdin)
    document = json.loads(printed("compare", plain, stdin, "--format", "json"))
    assert {module["distance"] for module in document["modules"]} == {0.0}


def test_errors(
    tiny_bert_folder: Path,
    data: Path,
    tmp_path: Path,
    printed: Printed,
    refused: Printed,
) -> None:
    model, out = tiny_bert_folder, tmp_path / "out"

    def error(*arguments: str | Path) -> str:
        return refused("corpus", *arguments, "-o", out)

    assert error(model, data, "--batch-tokens", "0") == "--batch-tokens is 0; it must be 1 or more"
    assert error(model, tmp_path / "none.txt") == "none.txt: No such file or directory"
    assert "has no weights" in error("bert-base-uncased", data)
    assert error(model, data, "--modules", "x.*") == (
        "--modules x.*: no module with such a path has one output vector per token"
    )
    inside = refused("corpus", model, data, "-o", model)
    assert inside.endswith("the folder contains other files, such as config.json")
    printed("corpus", model, data, "-o", out)
    line = refused("compare", out, model)
    assert line.endswith("not a corpus, unlike the other one; compare two models or two corpora")
    line = refused("report", "demo", "-o", tmp_path / "a.pdf", "--corpus", out)
    assert line.startswith("the corpus was made with another model: ")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLD_SIZE", "2")
        assert error(model, "-") == "-: several processes cannot share standard input; give a file"


def test_without_pyarrow(
    tiny_bert_folder: Path, data: Path, refused: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refused("corpus", tiny_bert_folder, data, "-o", "out") == (
        "statistics.parquet is written with pyarrow; install it: "
        f'{sys.executable} -m pip install "pyarrow>=17"'
    )
