"""Statistics by token, compared with those of their rows."""

import numpy as np
import pytest

from bertviewer.core.replay.outputs import call_statistics
from bertviewer.core.util.errors import Cancelled
from tests.core.checks.small_models import hook_count
from tests.core.replay.model_runs import Opened, known, opened


def rows_of(it: Opened, path: str) -> list[np.ndarray]:
    """Return what a module gives in a plain pass, [S, D] for each call."""
    seen: list[np.ndarray] = []
    module = it.module.get_submodule(path)
    handle = module.register_forward_hook(lambda _m, _a, x: seen.append(x[0].double().numpy()))
    it.plain()
    handle.remove()
    return seen


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("bert", "encoder.layer.1"),
        ("bert", "encoder.layer.1.intermediate"),
        ("gpt2", "h.1.mlp"),
        ("bart", "decoder.layers.0.fc1"),
        ("albert", "encoder.albert_layer_groups.0.albert_layers.0.ffn"),
    ],
)
def test_they_are_those_of_the_rows(family: str, path: str) -> None:
    it = known(family)
    found = call_statistics(it.model, it.run, it.kept, (path,))[path]
    expected = rows_of(it, path)
    assert len(found) == len(expected)
    for statistics, rows in zip(found, expected, strict=True):
        assert len(statistics) == len(rows)
        chosen, part = statistics.of((0, 2)), rows[[0, 2]]
        assert chosen.count == part.size
        assert chosen.mean == pytest.approx(part.mean(), rel=1e-5)
        assert chosen.std == pytest.approx(part.std(), rel=1e-5)
        assert (chosen.min, chosen.max) == pytest.approx((part.min(), part.max()))


def test_nothing_to_measure() -> None:
    it = known("bert")
    assert call_statistics(it.model, it.run, it.kept, ("pooler", "encoder.layer")) == {}


def test_cancelled() -> None:
    it = opened("bert")
    hooks = hook_count(it.module)

    def stop(done: int, total: int, label: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        call_statistics(it.model, it.run, it.kept, ("encoder.layer.0",), stop)
    assert hook_count(it.module) == hooks
