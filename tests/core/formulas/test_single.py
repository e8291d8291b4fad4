"""The words of formulas where there is one of something: one is not many."""

import json
from pathlib import Path

import pytest

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.loading.opening import open_model
from bertviewer.core.source.parsing import parse_source
from tests.core.formulas.formula_models import TINY, architecture_of
from tests.core.formulas.found_formulas import formula_at, values


@pytest.fixture
def single(tmp_path: Path) -> Architecture:
    sizes = {**TINY["bert"], "num_hidden_layers": 1, "num_attention_heads": 1}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "bert", **sizes}))
    return open_model(parse_source(str(path))).architecture


def test_one_head(single: Architecture) -> None:
    path = "encoder.layer.0.attention.self"
    formula, others = formula_at(single, path), formula_at(architecture_of("bert"), path)
    assert formula.summary.endswith("a weighted mean of their values, in one head.")
    assert others.summary.endswith("a weighted mean of their values, in 3 heads in parallel.")
    assert (values(formula)["h"], values(others)["h"]) == ("1 head", "3 heads")
    assert any(note.startswith("The single head uses all rows of W_Q") for note in formula.notes)
    assert any(note.startswith("All 3 heads are stacked in") for note in others.notes)


def test_one_layer(single: Architecture) -> None:
    formula, others = formula_at(single, "encoder"), formula_at(architecture_of("bert"), "encoder")
    assert formula.summary == "Runs its single layer."
    assert others.summary.startswith("Runs 2 layers in sequence")
    assert (values(formula)["l"], values(others)["l"]) == ("1 layer", "2 layers")
