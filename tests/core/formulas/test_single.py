"""The words of formulas where there is one of something: one is not many."""

import pytest

from bertviewer.core.schema.architecture import Architecture
from tests.core.formulas.flow_models import with_flows
from tests.core.formulas.formula_models import TINY, architecture_of
from tests.core.formulas.found_formulas import formula_at, values


@pytest.fixture(scope="module")
def single() -> Architecture:
    sizes = {**TINY["bert"], "num_hidden_layers": 1, "num_attention_heads": 1}
    return with_flows({"model_type": "bert", **sizes})


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
