"""Sums of hidden states are those of the tensors that they were."""

import numpy as np
import pytest

from bertviewer.core.activations.token_statistics import TokenStatistics
from bertviewer.core.analysis.state_measures import state_statistics
from bertviewer.core.closer_look.token_measures import call_statistics
from tests.core.closer_look.model_runs import known


def assert_equal(found: TokenStatistics, expected: TokenStatistics) -> None:
    assert found.width == expected.width
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("bert", "encoder.layer.0"),
        ("bert", "encoder.layer.1"),
        ("albert", "encoder.albert_layer_groups.0"),
        ("bart", "encoder.layers.1"),
        ("bart", "decoder.layers.0"),
        ("gpt2", "h.0"),
    ],
)
def test_a_layer_needs_no_replay(family: str, path: str) -> None:
    it = known(family)
    found = state_statistics(it.run, path)
    expected = call_statistics(it.model, it.run, it.kept, (path,))[path]
    assert found is not None
    assert len(found) == len(expected)
    for mine, other in zip(found, expected, strict=True):
        assert_equal(mine, other)


@pytest.mark.parametrize(
    ("family", "path"),
    # GPT-2's last state comes after the norm behind its last layer.
    [("gpt2", "h.1"), ("bert", "encoder.layer.0.output.dense"), ("bert", "pooler"), ("bert", "no")],
)
def test_other_modules_gave_no_state(family: str, path: str) -> None:
    assert state_statistics(known(family).run, path) is None
