"""The figures of some tokens are those of their rows."""

import numpy as np
import pytest

from bertviewer.core.analysis.token_measures import token_statistics
from bertviewer.core.errors import Cancelled
from tests.core.analysis.model_runs import known, opened
from tests.core.checking.small_models import hook_count


def test_they_are_those_of_the_rows() -> None:
    it = known("bert")
    paths = ("encoder.layer.0", "encoder.layer.1", "pooler", "encoder.layer")
    found = token_statistics(it.model, it.run, it.kept, paths)
    assert list(found) == ["encoder.layer.0", "encoder.layer.1"]
    for number, path in enumerate(found, start=1):
        state = it.run.hidden_states[number].astype(np.float64)
        assert len(found[path]) == len(state)
        assert found[path].norms == pytest.approx(np.linalg.norm(state, axis=1))
        chosen = found[path].of((0, 3))
        rows = state[[0, 3]]
        assert chosen.mean == pytest.approx(rows.mean())
        assert chosen.std == pytest.approx(rows.std())
        assert (chosen.min, chosen.max) == (rows.min(), rows.max())
        activation = it.run.activation(path)
        assert activation is not None
        assert found[path].of(range(len(state))).mean == pytest.approx(activation.statistics.mean)


def test_the_last_call_of_a_shared_layer() -> None:
    it = known("albert")
    path = "encoder.albert_layer_groups.0.albert_layers.0"
    found = token_statistics(it.model, it.run, it.kept, (path,))[path]
    activation = it.run.activation(path)
    assert activation is not None
    assert activation.token_norms is not None
    assert found.norms == pytest.approx(activation.token_norms, rel=1e-5)


def test_nothing_to_measure() -> None:
    it = known("bert")
    assert token_statistics(it.model, it.run, it.kept, ("pooler",)) == {}


def test_cancelled() -> None:
    it = opened("bert")
    hooks = hook_count(it.module)

    def stop(done: int, total: int, label: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        token_statistics(it.model, it.run, it.kept, ("encoder.layer.0",), stop)
    assert hook_count(it.module) == hooks
