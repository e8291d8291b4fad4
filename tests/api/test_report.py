"""A report that a script writes names the command that writes it again, to the last byte."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bertviewer
from bertviewer.api.drawing import drawing_here
from bertviewer.app import main
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.loading.opening import open_model
from bertviewer.core.saved_runs.file_format import encode_runs
from bertviewer.core.saved_runs.run_file import RunsToSave, create_run_file
from bertviewer.core.sources.parsing import parse_source

Write = Callable[[Path], Path]
FEW = ("model", "sentence", "runs", "checks", "models")


@pytest.fixture
def alike(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return a model that is built alike, with other weights and the same tokenizer."""
    folder = tmp_path / "alike"
    module = transformers.BertModel.from_pretrained(tiny_bert_folder)
    with torch.no_grad():
        module.pooler.dense.weight.add_(0.5)
    module.save_pretrained(folder)
    for name in ("vocab.txt", "tokenizer_config.json"):
        (folder / name).write_bytes((tiny_bert_folder / name).read_bytes())
    return folder


def check_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Carry out the command that a report names, elsewhere, and compare; return the command."""
    report = file.read_bytes()
    facts = dict(json.loads(report)["front"]["facts"])
    command = str(facts["Command"][0]["text"])
    folder = file.parent / "again"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main(shlex.split(command)[1:]) == 0
    assert (folder / file.name).read_bytes() == report
    return command


@pytest.mark.usefixtures("qapp")
def test_of_all_that_can_be_said(
    model: bertviewer.Model, alike: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = bertviewer.open(alike)
    against = other.run("the cat " * 40, cut=True)
    run = model.run("--the cat", "on 'the' mat")
    run.check("pooler")
    run.check("encoder.layer.0")
    with drawing_here():
        model.report(
            tmp_path / "report",
            run,
            against=against,
            compare_from=other,
            sections=FEW,
            layers=[1],
            statistic="mean ± std",
            paper="letter",
            title="Ours",
            grey=True,
            format="json",
        )
    command = check_again(tmp_path / "report", monkeypatch)
    for words in ("--against-model=", "--cut", "--compare-from=", "--check-module=pooler"):
        assert words in command


@pytest.mark.usefixtures("qapp")
def test_of_random_weights_and_of_everything_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_bert_folder: Path
) -> None:
    model = bertviewer.open(tiny_bert_folder / "config.json", "masked-lm")
    run = model.run("the [MASK] sat", random_weights=True)
    run.check()
    with drawing_here():
        model.report(tmp_path / "a.json", run, sections=FEW, compare=model)
    command = check_again(tmp_path / "a.json", monkeypatch)
    assert "--task masked-lm" in command
    assert "--random-weights --check" in command


@pytest.mark.usefixtures("qapp")
def test_of_saved_runs_and_a_new_one_against_them(
    model: bertviewer.Model,
    run: bertviewer.Run,
    tiny_bert_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = open_model(parse_source(str(tiny_bert_folder)))
    kept = RunsToSave(run.data, model.run("the cat").data)
    file = create_run_file(loaded.source, loaded.data, loaded.checkpoint, kept)
    path = tmp_path / "two.bertviewer"
    path.write_bytes(b"".join(encode_runs(file)))
    saved = bertviewer.open(path)
    last, run_a = saved.saved_runs()
    with drawing_here():
        saved.report(tmp_path / "a.json", last, against=run_a, sections=FEW)
        check_again(tmp_path / "a.json", monkeypatch)
        (tmp_path / "again" / "a.json").unlink()
        (tmp_path / "again").rmdir()
        model.report(tmp_path / "b.json", model.run("a mat"), against=last, sections=FEW)
    assert f"--against-saved={path}" in check_again(tmp_path / "b.json", monkeypatch)


@pytest.mark.usefixtures("qapp")
def test_of_weights_that_are_read_layer_by_layer(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = bertviewer.open(tiny_bert_folder, offload=True)
    run = model.run("the cat")
    assert "pretrained weights, read layer by layer" in run.summary()
    with drawing_here():
        model.report(tmp_path / "a.json", run, sections=FEW)
    facts = dict(json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["front"]["facts"])
    assert facts["Model"][0].endswith("pretrained weights, read layer by layer")
    assert " --offload" in check_again(tmp_path / "a.json", monkeypatch)


def test_runs_of_models_that_are_built_otherwise(
    model: bertviewer.Model, run: bertviewer.Run, tmp_path: Path
) -> None:
    other = bertviewer.open("gpt2").run("the cat", random_weights=True)
    with pytest.raises(bertviewer.Error, match="has a different structure"):
        model.report(tmp_path / "a.json", run, against=other)
    assert not list(tmp_path.iterdir())


def test_a_word_that_a_report_does_not_know(model: bertviewer.Model, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'titel'"):
        model.report(tmp_path / "a.json", titel="x")  # type: ignore[call-arg]


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"layers": "7"}, "this model has layers 0 to 1"),
        ({"layers": [-1]}, "write layer numbers"),
        ({"layers": "first"}, "write layer numbers"),
        ({"sections": ()}, "no section is selected"),
    ],
)
def test_what_there_is_not_is_refused_and_the_old_report_stays(
    model: bertviewer.Model, tmp_path: Path, wishes: Any, message: str
) -> None:
    file = tmp_path / "report.json"
    file.write_text("old", encoding="utf-8")
    with drawing_here(), pytest.raises(bertviewer.Error, match=message):
        model.report(file, model.run("the cat"), **wishes)
    assert file.read_text(encoding="utf-8") == "old"


@pytest.mark.usefixtures("qapp")
def test_layers_may_be_written_as_a_person_writes_them(
    model: bertviewer.Model, tmp_path: Path
) -> None:
    run = model.run("the cat")
    files = []
    wished: tuple[str | list[int], ...] = ("0-1", "all", [1, 0])
    for number, layers in enumerate(wished):
        file = tmp_path / str(number) / "report.json"
        file.parent.mkdir()
        with drawing_here():
            model.report(file, run, layers=layers, sections=("attention", "values"))
        files.append(file.read_bytes())
    assert files[0] == files[1] == files[2]
