"""The commands about many sentences, as other programs see them."""

import io
import json
import sys
from pathlib import Path

import pytest

from bertviewer.app import main
from tests.cli.commands import bertviewer, python_of
from tests.cli.conftest import Printed

LINES = "this is a test\nthe cat sat on the mat\n\nthis\n"
FILES = ["features.safetensors", "manifest.json", "statistics.parquet"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "lines.txt"
    file.write_text(LINES, encoding="utf-8")
    return file


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Return the one line of an error."""
    assert main([*map(str, arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    return line.removeprefix("bertviewer: error: ")


def test_a_corpus(tiny_bert_folder: Path, data: Path, tmp_path: Path) -> None:
    done = bertviewer(tmp_path, "corpus", str(tiny_bert_folder), data.name, "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == [
        "3 sentences · 17 tokens · 1 shard",
        "Skipped: 1 that could not be read",
        "  lines.txt, line 3: it is empty",
    ]
    folder = tmp_path / "out"
    assert sorted(file.name for file in folder.iterdir()) == FILES
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["schema"] == "bertviewer.corpus/1"
    command = f"bertviewer corpus {tiny_bert_folder} lines.txt -o out --task base"
    assert manifest["command"] == command
    assert set(manifest["versions"]) >= {"bertviewer", "torch", "transformers"}
    assert set(manifest["model"]["files"]) >= {"model.safetensors", "vocab.txt"}
    assert len(manifest["data"][0]["sha256"]) == 64


def test_layer_by_layer(
    tiny_bert_folder: Path, data: Path, tmp_path: Path, printed: Printed
) -> None:
    for name, choices in (("absent", ["--offload"]), ("whole", [])):
        printed("corpus", str(tiny_bert_folder), str(data), "-o", str(tmp_path / name), *choices)
    for file in FILES[::2]:
        both = [(tmp_path / name / file).read_bytes() for name in ("absent", "whole")]
        assert both[0] == both[1]
    manifests = [
        json.loads((tmp_path / name / FILES[1]).read_text("utf-8")) for name in ("absent", "whole")
    ]
    assert manifests[0].keys() == manifests[1].keys()
    assert {key for key in manifests[0] if manifests[0][key] != manifests[1][key]} <= {"command"}


def test_the_standard_input(
    tiny_bert_folder: Path,
    data: Path,
    tmp_path: Path,
    printed: Printed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = str(tiny_bert_folder)
    printed("corpus", model, str(data), "-o", str(tmp_path / "file"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))
    printed("corpus", model, "-", "-o", str(tmp_path / "stdin"))
    for name in FILES[::2]:
        both = [(tmp_path / folder / name).read_bytes() for folder in ("file", "stdin")]
        assert both[0] == both[1]
    assert "0.0000" in printed("compare", *(str(tmp_path / name) for name in ("file", "stdin")))
    document = json.loads(
        printed("compare", *(str(tmp_path / n) for n in ("file", "stdin")), "--format", "json")
    )
    assert {module["distance"] for module in document["modules"]} == {0.0}


def test_what_is_refused(
    tiny_bert_folder: Path,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, out = tiny_bert_folder, tmp_path / "out"

    def said(*arguments: str | Path) -> str:
        return refused(capsys, "corpus", *arguments, "-o", out)

    assert said(model, data, "--batch-tokens", "0") == "--batch-tokens is 0; it must be 1 or more"
    assert said(model, tmp_path / "none.txt") == "none.txt: No such file or directory"
    assert "has no weights" in said("bert-base-uncased", data)
    assert said(model, data, "--modules", "x.*") == (
        "--modules x.*: no module with such a path has one output vector per token"
    )
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert said(model, "-") == ("-: several processes cannot share standard input; give a file")
    inside = refused(capsys, "corpus", model, data, "-o", model)
    assert inside.endswith("the folder contains other files, such as config.json")


def test_without_pyarrow(tiny_bert_folder: Path, data: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['pyarrow'] = None\n"
        "from bertviewer.app import main\nsys.exit(main(sys.argv[1:]))"
    )
    arguments = ("corpus", str(tiny_bert_folder), data.name, "-o", "out")
    done = python_of(tmp_path, "-c", code, *arguments)
    assert done.returncode == 2
    assert done.stderr == (
        "bertviewer: error: statistics.parquet is written with pyarrow; install it: "
        f'{sys.executable} -m pip install "pyarrow>=17"\n'
    )


def test_corpora_and_models_are_not_compared(
    tiny_bert_folder: Path,
    data: Path,
    tmp_path: Path,
    printed: Printed,
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed("corpus", str(tiny_bert_folder), str(data), "-o", str(tmp_path / "out"))
    said = refused(capsys, "compare", tmp_path / "out", tiny_bert_folder)
    assert said.endswith("not a corpus, unlike the other one; compare two models or two corpora")
    said = refused(capsys, "report", "demo", "-o", tmp_path / "a.pdf", "--corpus", tmp_path / "out")
    assert said.startswith("the corpus was made with another model: ")
