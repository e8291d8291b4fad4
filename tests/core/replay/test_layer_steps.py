"""The printed code of a layer's steps gives the printed values."""

from typing import Any

import numpy as np
import pytest

from bertviewer.core.analysis.layers import layer_paths
from bertviewer.core.building.backend import torch
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.layer_steps import inside_layer
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tensors.inside_layer import InsideLayer
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import FAMILIES, perturb, small_model

ATTENTION = ["Scores, head 0", "Softmax, head 0", "Weighted values, head 0"]
OPENED = ("squeezebert", "transformer-base")
"""Families whose attention is written as a call of its module."""


def replayed(family: str, **changes: Any) -> tuple[LoadedModel, InsideLayer]:
    model = small_model(family, **changes)
    perturb(model)
    cache = ActivationCache("units")
    run = run_sentence(model, Sentence("the cat sat on the mat"), random_weights=True, cache=cache)
    path = layer_paths(model.architecture)[0]
    return model, inside_layer(RecordedRun(run, cache).cached(model), path)


def executed(model: LoadedModel, inside: InsideLayer) -> dict[str, Any]:
    """Execute the printed lines, except the one that loads the model, and return the results."""
    lines = [line for line in inside.setup if not line.startswith("model = ")]
    names: dict[str, Any] = {"model": model.running_module}
    found = {}
    with torch.no_grad():
        exec("\n".join(lines), names)
        for step in inside.steps:
            exec("\n".join(step.code), names)
            found[step.title] = names[step.name]
            shown = names[step.name].float()
            shown = shown[(0,) * (shown.dim() - 2)].numpy()
            corner = shown[np.ix_(step.corner.rows, step.corner.columns)]
            assert tuple(names[step.name].shape) == step.corner.shape, step.title
            np.testing.assert_allclose(corner, step.corner.values, atol=2e-6, err_msg=step.title)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_printed_code_gives_the_printed_values(family: str) -> None:
    model, inside = replayed(family)
    found = executed(model, inside)
    assert all(len(line) <= 150 for step in inside.steps for line in step.code)
    titles = [step.title for step in inside.steps]
    assert titles[0] == "Input"
    assert titles[-1].startswith("Output")
    if family not in OPENED:
        assert [title for title in titles if title in ATTENTION] == ATTENTION
        weights = found["Softmax, head 0"]
        assert torch.allclose(weights.sum(-1), torch.ones(()))


def test_a_module_of_several_products_is_no_linear_layer() -> None:
    _, inside = replayed(
        "longformer", vocab_size=97, hidden_size=24, num_hidden_layers=1, num_attention_heads=3,
        intermediate_size=40, attention_window=4,
    )  # fmt: skip
    assert inside.steps[1].title == "Module self"


def test_a_module_that_computes_nothing_has_no_steps() -> None:
    model = small_model("bert")
    cache = ActivationCache("units")
    run = run_sentence(model, Sentence("the cat"), random_weights=True, cache=cache)
    cached = RecordedRun(run, cache).cached(model)
    attention = "encoder.layer.0.attention"
    with pytest.raises(UserError, match="cannot be written as code: it computes nothing"):
        inside_layer(cached, f"{attention}.output.dropout")
    with pytest.raises(UserError, match="was not called"):
        inside_layer(cached, f"{attention}.self.dropout")
