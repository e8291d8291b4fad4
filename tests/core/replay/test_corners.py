"""Numbers of a run on a page: those of transformers' own hidden states, bit by bit."""

import numpy as np

from bertviewer.core.building.backend import torch
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.module_tensors import tensor_corners
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tensors.reduction import ends_of

SENTENCE = Sentence("this is a 12212121 test sentence")


def test_they_are_those_of_transformers_bit_by_bit(demo_source: ModelSource) -> None:
    model, kept = open_model(demo_source), ActivationCache()
    run = run_sentence(model, SENTENCE, cache=kept)
    with torch.no_grad():
        states = model.running_module(**{**kept.inputs, "output_hidden_states": True}).hidden_states
    for layer in (0, 3, 5):
        (taken, took), (given, gave) = tensor_corners(model, run, kept, f"encoder.layer.{layer}")
        assert (taken.side, taken.name) == ("input", "hidden_states")
        assert (given.side, given.name) == ("output", "output")
        for corner, state in ((took, states[layer]), (gave, states[layer + 1])):
            assert corner.shape == (1, 11, 384)
            assert corner.rows == (0, 1, 2, 3, 9, 10)
            assert corner.columns == (0, 1, 2, 3, 382, 383)
            expected = state[0][list(corner.rows)][:, list(corner.columns)].numpy()
            assert np.array_equal(corner.values, expected.astype(np.float64))
    assert took.tokens == ("[CLS]", "this", "is", "a", "sentence", "[SEP]")


def test_a_vector_is_one_row(demo_source: ModelSource) -> None:
    model, kept = open_model(demo_source), ActivationCache("units")
    run = run_sentence(model, SENTENCE, cache=kept)
    corners = dict(tensor_corners(model, run, kept, "pooler"))
    (pooled,) = (corner for key, corner in corners.items() if key.side == "output")
    assert pooled.rows == (0,)
    assert pooled.values.shape == (1, 6)
    assert pooled.values[0, 5] == run.outputs["pooler_output"][0, 383]


def test_what_is_hardly_longer_is_whole() -> None:
    assert ends_of(7) == (0, 1, 2, 3, 4, 5, 6)
    assert ends_of(8) == (0, 1, 2, 3, 6, 7)
    assert ends_of(1) == (0,)
