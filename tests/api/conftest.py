"""A model and its runs, shared by the tests of the Python API."""

import json
from pathlib import Path

import pytest

import bertviewer
from bertviewer.api.drawing import drawing_here
from bertviewer.core.loading.opening import open_model
from bertviewer.core.saved_runs.file_format import encode_runs
from bertviewer.core.saved_runs.run_file import RunsToSave, create_run_file
from bertviewer.core.sources.parsing import parse_source
from tests.core.formulas.formula_models import TINY

LINES = "this is a test\nthe cat sat on the mat\n\nthis\n"


@pytest.fixture(scope="package")
def model(tiny_bert_folder: Path) -> bertviewer.Model:
    """Return a small BERT with weights."""
    return bertviewer.open(tiny_bert_folder)


@pytest.fixture(scope="package")
def run(model: bertviewer.Model) -> bertviewer.Run:
    """Return a run of two sentences."""
    return model.run("the cat sat", "on the mat")


@pytest.fixture(scope="package")
def random_run(tmp_path_factory: pytest.TempPathFactory) -> bertviewer.Run:
    """Return a run of a small encoder-decoder with random weights."""
    file = tmp_path_factory.mktemp("bart") / "config.json"
    file.write_text(json.dumps({"model_type": "bart", **TINY["bart"]}), encoding="utf-8")
    return bertviewer.open(file).run("the cat", random_weights=True)


@pytest.fixture(scope="package")
def saved_runs(
    model: bertviewer.Model,
    run: bertviewer.Run,
    tiny_bert_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a file with ``run`` and the run A "the cat"."""
    loaded = open_model(parse_source(str(tiny_bert_folder)))
    both = RunsToSave(run.data, model.run("the cat").data)
    path = tmp_path_factory.mktemp("saved") / "two.bertviewer"
    file = create_run_file(loaded.source, loaded.data, loaded.checkpoint, both)
    path.write_bytes(b"".join(encode_runs(file)))
    return path


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with three sentences and an empty line."""
    file = tmp_path_factory.mktemp("data") / "lines.txt"
    file.write_text(LINES, encoding="utf-8")
    return file


@pytest.fixture(scope="package")
def corpus(model: bertviewer.Model, data: Path) -> bertviewer.Corpus:
    """Return a corpus of the three sentences."""
    return model.corpus(data, folder=data.parent / "out", batch_size=2, modules="*")


@pytest.fixture
def _drawn_here(qapp: object) -> object:
    """Draw in the process of the tests, which is faster than starting another one."""
    with drawing_here():
        yield
