"""A report of a script names the command that writes the same bytes."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bertviewer
from bertviewer.app import main
from bertviewer.core.building.backend import torch, transformers

Repeat = Callable[[Path], str]
FEW = ("model", "sentence", "runs", "checks", "models")

pytestmark = pytest.mark.usefixtures("_drawn_here")


@pytest.fixture
def other_weights(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return the same model with a changed weight."""
    folder = tmp_path / "other"
    module = transformers.BertModel.from_pretrained(tiny_bert_folder)
    with torch.no_grad():
        module.pooler.dense.weight.add_(0.5)
    module.save_pretrained(folder)
    for name in ("vocab.txt", "tokenizer_config.json"):
        (folder / name).write_bytes((tiny_bert_folder / name).read_bytes())
    return folder


@pytest.fixture
def repeat(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Repeat:
    """Return a function that runs the command of a report, compares the files and returns it."""

    def run_command(file: Path) -> str:
        facts = dict(json.loads(file.read_bytes())["front"]["facts"])
        command = str(facts["Command"][0]["text"])
        folder = tmp_path_factory.mktemp("repeated")
        monkeypatch.chdir(folder)
        assert main(shlex.split(command)[1:]) == 0
        assert (folder / file.name).read_bytes() == file.read_bytes()
        return command

    return run_command


def test_all_options(
    model: bertviewer.Model, other_weights: Path, tmp_path: Path, repeat: Repeat
) -> None:
    other = bertviewer.open(other_weights)
    run = model.run("--the cat", "on 'the' mat")
    run.check("pooler")
    run.check("encoder.layer.0")
    model.report(
        tmp_path / "report",
        run,
        against=other.run("the cat " * 40, cut=True),
        compare_from=other,
        sections=FEW,
        layers=[1],
        statistic="mean ± std",
        paper="letter",
        title="Ours",
        grey=True,
        appendix="full",
        format="json",
    )
    command = repeat(tmp_path / "report")
    for words in ("--against-model=", "--cut", "--compare-from=", "--check-module=pooler"):
        assert words in command


def test_random_weights_and_a_check_of_everything(
    tmp_path: Path, repeat: Repeat, tiny_bert_folder: Path
) -> None:
    model = bertviewer.open(tiny_bert_folder / "config.json", "masked-lm")
    run = model.run("the [MASK] sat", random_weights=True)
    run.check()
    model.report(tmp_path / "a.json", run, sections=FEW, compare=model)
    command = repeat(tmp_path / "a.json")
    assert "--task masked-lm" in command
    assert "--random-weights --check" in command


def test_saved_runs(
    model: bertviewer.Model, saved_runs: Path, tmp_path: Path, repeat: Repeat
) -> None:
    saved = bertviewer.open(saved_runs)
    last, run_a = saved.saved_runs()
    saved.report(tmp_path / "a.json", last, against=run_a, sections=FEW)
    repeat(tmp_path / "a.json")
    model.report(tmp_path / "b.json", model.run("a mat"), against=last, sections=FEW)
    assert f"--against-saved={saved_runs}" in repeat(tmp_path / "b.json")


def test_offloaded_weights(tiny_bert_folder: Path, tmp_path: Path, repeat: Repeat) -> None:
    model = bertviewer.open(tiny_bert_folder, offload=True)
    run = model.run("the cat")
    assert "pretrained weights, read layer by layer" in run.summary()
    model.report(tmp_path / "a.json", run, sections=FEW)
    facts = dict(json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["front"]["facts"])
    assert facts["Model"][0].endswith("pretrained weights, read layer by layer")
    assert " --offload" in repeat(tmp_path / "a.json")


def test_a_corpus(
    model: bertviewer.Model, corpus: bertviewer.Corpus, tmp_path: Path, repeat: Repeat
) -> None:
    files = []
    every: tuple[bertviewer.Corpus | Path | str, ...] = (corpus, corpus.folder, str(corpus.folder))
    for number, given in enumerate(every):
        (tmp_path / str(number)).mkdir()
        sections = ("model", "corpus")
        files.append(
            model.report(tmp_path / str(number) / "a.json", corpus=given, sections=sections)
        )
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    assert f"--corpus={corpus.folder}" in repeat(files[0])


def test_layers_are_numbers_or_a_text(
    model: bertviewer.Model, run: bertviewer.Run, tmp_path: Path
) -> None:
    contents = set()
    wanted: tuple[str | list[int], ...] = ("0-1", "all", [1, 0])
    for layers in wanted:
        file = tmp_path / "report.json"
        model.report(file, run, layers=layers, sections=("attention", "values"))
        contents.add(file.read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": "7"}, "this model has layers 0 to 1"),
        ({"layers": [-1]}, "write layer numbers"),
        ({"layers": "first"}, "write layer numbers"),
        ({"sections": ()}, "no section is selected"),
    ],
)
def test_wrong_options_leave_the_old_report(
    model: bertviewer.Model, run: bertviewer.Run, tmp_path: Path, options: Any, message: str
) -> None:
    file = tmp_path / "report.json"
    file.write_text("old", encoding="utf-8")
    with pytest.raises(bertviewer.Error, match=message):
        model.report(file, run, **options)
    assert file.read_text(encoding="utf-8") == "old"


def test_runs_of_other_models_and_unknown_options(
    model: bertviewer.Model, run: bertviewer.Run, random_run: bertviewer.Run, tmp_path: Path
) -> None:
    with pytest.raises(bertviewer.Error, match="has a different structure"):
        model.report(tmp_path / "a.json", run, against=random_run)
    with pytest.raises(TypeError, match="unexpected keyword argument 'titel'"):
        model.report(tmp_path / "a.json", titel="x")  # type: ignore[call-arg]
    assert not list(tmp_path.iterdir())
