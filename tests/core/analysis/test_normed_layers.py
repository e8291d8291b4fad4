"""Figures that a layer norm alone makes are told apart from those that the layers make."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.analysis.layers import normed_layers
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.parsing import parse_source

SENTENCE = Sentence("the cat sat on the mat")


def ran(name: str, random: bool) -> tuple[Architecture, ActivationRun]:
    model = open_model(parse_source(name))
    return model.architecture, run_sentence(model, SENTENCE, random_weights=random)


def test_a_post_norm_model_with_random_weights() -> None:
    architecture, run = ran("bert-base-uncased", random=True)
    found = normed_layers(architecture, run)
    assert found is not None
    assert found.class_name == "LayerNorm"
    assert found.features == 768
    norms = np.array(run.token_norms[1:], dtype=float)
    assert norms == pytest.approx(np.full_like(norms, found.norm), rel=1e-4)
    # One layer that gives something else makes the sentence untrue.
    layer = next(m for m in run.modules if m.path == "encoder.layer.5")
    other = replace(layer.calls[0], total=layer.calls[0].count)
    modules = tuple(replace(m, calls=(other,)) if m is layer else m for m in run.modules)
    assert normed_layers(architecture, replace(run, modules=modules)) is None


@pytest.mark.parametrize(("name", "random"), [("demo", False), ("gpt2", True)])
def test_layers_that_tell_something(name: str, random: bool) -> None:
    """Of trained norms, or where a layer ends in a sum, figures are the layer's own."""
    assert normed_layers(*ran(name, random)) is None
