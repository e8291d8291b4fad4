"""A model and a run that the tests of the front door share."""

from pathlib import Path

import pytest

import bertviewer
from bertviewer.api.drawing import drawing_here


@pytest.fixture(scope="package")
def model(tiny_bert_folder: Path) -> bertviewer.Model:
    """Return a small BERT with weights."""
    return bertviewer.open(tiny_bert_folder)


@pytest.fixture(scope="package")
def run(model: bertviewer.Model) -> bertviewer.Run:
    """Return a run of a pair of sentences."""
    return model.run("the cat sat", "on the mat")


@pytest.fixture
def _drawn_here(qapp: object) -> object:
    """Draw in the process of the tests, which saves starting another."""
    with drawing_here():
        yield
