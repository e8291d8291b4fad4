"""A small model with weights, and a run of it, for tests that leave both unchanged."""

from pathlib import Path

import pytest

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source


@pytest.fixture(scope="package")
def model(tiny_bert_folder: Path) -> LoadedModel:
    return open_model(parse_source(str(tiny_bert_folder), "sequence-classification"))


@pytest.fixture(scope="package")
def run(model: LoadedModel) -> ActivationRun:
    return run_sentence(model, Sentence("💥 猫 سلام", "A cat <b>sat</b>."))
