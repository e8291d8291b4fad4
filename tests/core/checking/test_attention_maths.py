"""An attention's probabilities alone, as the whole calculation has them."""

from dataclasses import replace

import pytest
import torch

from bertviewer.core.analysis.attention_places import attention_paths
from bertviewer.core.checking.arithmetic import EXACT
from bertviewer.core.checking.attention import ATTENTIONS
from bertviewer.core.checking.attention_maths import Attention, Projection
from bertviewer.core.checking.evaluator import Evaluator, Setting
from bertviewer.core.checking.recomputations import recomputation
from bertviewer.core.families.families import CLASSES
from tests.core.checking.small_models import run, small_model


def read(family: str) -> tuple[Attention, Evaluator]:
    """Return the first attention of a small model's run."""
    model = small_model(family)
    capture = run(model)
    architecture = model.with_flows()
    path = attention_paths(architecture)[0]
    nodes = {node.path: node for node in architecture.modules}
    module = model.module(random_weights=True)
    evaluator = Setting(module, architecture, nodes, EXACT, recomputation, CLASSES).evaluator(path)
    call = capture.calls[path][0]
    args, kwargs = EXACT.take(call.args), EXACT.take(dict(call.kwargs))
    return ATTENTIONS[evaluator.kind].read(evaluator, *args, **kwargs), evaluator


KINDS = (
    *("bert", "bart", "t5", "gpt2", "mistral", "deberta-v2"),
    *("deberta", "roformer", "esm", "big_bird", "squeezebert"),
)


@pytest.mark.parametrize("family", KINDS)
def test_the_probabilities_take_no_values(family: str) -> None:
    attention, evaluator = read(family)
    whole, mixed = attention.attend(evaluator)
    nothing = replace(attention, value=Projection(torch.empty(0, 0), None))
    assert torch.equal(nothing.weights(evaluator), whole)
    with pytest.raises(RuntimeError):
        nothing.attend(evaluator)
    size = mixed.shape[-1] // attention.heads
    for head in range(attention.heads):
        assert nothing.weights(evaluator, head) == pytest.approx(
            whole[:, head : head + 1], abs=1e-12
        )
        alone = attention.attend(evaluator, head)[1]
        assert alone == pytest.approx(mixed[..., head * size : (head + 1) * size], abs=1e-12)
