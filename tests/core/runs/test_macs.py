"""Multiply-adds of a run, compared with torch's FLOP counter and closed formulas.

``test_families`` in ``replay`` compares the counts of every family with torch's.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
import torch
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_random
from bertviewer.core.graph.products import ProductMode
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.macs import Macs, RunCounter, formula_macs
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.costs import Costs
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import small_model
from tests.core.graph.narrow_models import BERT, NARROW, counted_by_torch, is_known_to_torch

IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12, 13]])
LENGTH, WIDTH, INNER = IDS.shape[1], 24, 40
LAYER = LENGTH * (4 * WIDTH**2 + 2 * WIDTH * INNER) + 2 * LENGTH**2 * WIDTH
"""Multiply-adds of a layer of BERT."""


def build(family: str, task: str = "base", **changes: Any) -> Any:
    config = build_config({"model_type": family, **NARROW[family], **changes}, family)
    return build_random(config, find_task(task), family)


def counted_by_run(model: nn.Module, **inputs: Tensor) -> Mapping[str, Macs]:
    counter = RunCounter(model)
    with torch.no_grad(), counter.counting():
        model(**inputs)
    return counter.macs()


def compared_with_torch(model: nn.Module, **inputs: Tensor) -> int:
    """Check every module's count, and return the model's."""
    found = counted_by_run(model, **inputs)
    with counted_by_torch(model) as counted:
        model(**inputs)
    for path, macs in found.items():
        assert macs.count is not None, (path, macs.reason)
        if is_known_to_torch(model.get_submodule(path)):
            assert 2 * macs.count == counted.get(path, 0), path
    return found[""].count or 0


def test_bert_in_closed_form() -> None:
    # The pooler reads one token.
    assert compared_with_torch(build("bert"), input_ids=IDS) == 2 * LAYER + WIDTH**2


def test_an_attention_that_is_replaced_during_the_pass_counts() -> None:
    sizes = {**BERT, "max_position_embeddings": 64, "block_size": 4, "num_random_blocks": 1}
    config = build_config({"model_type": "big_bird", **sizes}, "test")
    model: Any = build_random(config, find_task("base"), "test")
    attention = model.encoder.layer[0].attention.self
    root = counted_by_run(model, input_ids=IDS)[""]
    assert model.encoder.layer[0].attention.self is not attention
    with counted_by_torch(model) as counted:
        model(input_ids=IDS)
    assert root.count is not None
    assert 2 * root.count == counted[""]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(4, 4)
        self.recurrent = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.recurrent(self.dense(x))[0]
        return y


def test_an_operation_that_hides_its_products_has_a_reason_for_all_modules_around_it() -> None:
    hidden = "the matrix products of aten::mkldnn_rnn_layer are not known"
    assert counted_by_run(Recurrent(), x=torch.ones(1, 7, 4)) == {
        "": Macs(None, f"recurrent: {hidden}"),
        "dense": Macs(7 * 4 * 4),
        "recurrent": Macs(None, hidden),
    }


def test_custom_operations_are_not_taken_for_nothing() -> None:
    @torch.library.custom_op("bertviewer_tests::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x @ x

    class Squared(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = twice(x)
            return y

    expected = Macs(None, "the matrix products of bertviewer_tests::twice are not known")
    assert counted_by_run(Squared(), x=torch.ones(3, 3)) == {"": expected}
    # It is an error for a mode that cannot record it.
    with pytest.raises(NotImplementedError, match="bertviewer_tests::twice"), ProductMode(print):
        twice(torch.ones(3, 3))


def test_a_call_that_fails_ends() -> None:
    class Fails(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x @ x
            raise ValueError

    class Catches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fails = Fails()
            self.dense = nn.Linear(2, 3, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            with suppress(ValueError):
                self.fails(x)
            y: Tensor = self.dense(x)
            return y @ y.T

    # What was computed before the failure counts for the module that caught it.
    assert counted_by_run(Catches(), x=torch.ones(2, 2)) == {
        "": Macs(8 + 12 + 12),
        "dense": Macs(12),
    }


SENTENCE = Sentence("the bank of the river")


@pytest.fixture(scope="module")
def costs() -> Costs:
    found = small_model("bert").with_formulas().costs
    assert found is not None
    return found


def with_costs(costs: Costs | None) -> LoadedModel:
    """Open a small BERT with these formulas, and the same random weights each time."""
    model = small_model("bert")
    model.architecture = replace(model.architecture, costs=costs)
    return model


@pytest.fixture(scope="module")
def bert(costs: Costs) -> LoadedModel:
    return with_costs(costs)


def with_module(costs: Costs, path: str, **changes: Any) -> Costs:
    changed = replace(costs.modules[path], **changes)
    return replace(costs, modules={**costs.modules, path: changed})


def macs_of(model: LoadedModel) -> dict[str, tuple[int | None, str]]:
    """Run a sentence; return the multiply-adds of each module, and the reason."""
    run = run_sentence(model, SENTENCE, random_weights=True)
    return {module.path: (module.macs, module.macs_reason) for module in run.modules}


def test_formulas_and_counts_agree_in_each_module(bert: LoadedModel) -> None:
    tokens = run_sentence(bert, SENTENCE, random_weights=True).tokens
    assert formula_macs(bert.architecture, tokens) is not None
    found = macs_of(bert)
    assert found == macs_of(with_costs(None))
    query = found["encoder.layer.0.attention.self.query"]
    assert query == (len(tokens) * WIDTH**2, "")


@pytest.mark.parametrize("formula", [None, "S//2"])
def test_without_a_formula_for_one_module_there_is_none(
    bert: LoadedModel, costs: Costs, formula: str | None
) -> None:
    without = with_module(costs, "pooler", macs=formula)
    tokens = run_sentence(bert, Sentence("a"), random_weights=True).tokens
    assert len(tokens) % 2 == 1
    assert formula_macs(replace(bert.architecture, costs=without), tokens) is None


def test_a_called_module_that_formulas_do_not_know_makes_it_count_all(
    bert: LoadedModel, costs: Costs
) -> None:
    fewer = {path: module for path, module in costs.modules.items() if path != "pooler.dense"}
    model = with_costs(replace(costs, modules=fewer))
    assert macs_of(model) == macs_of(bert)


def test_counts_have_the_reason_why_there_is_no_formula(costs: Costs) -> None:
    changed = with_module(costs, "pooler", macs=None, reason="no formula fits")
    found = macs_of(with_costs(changed))
    reason = "as counted in this run, because there is no formula: no formula fits"
    assert found["pooler"] == (WIDTH**2, reason)
    assert found["pooler.dense"] == (WIDTH**2, "")


def test_a_failure_while_counting_is_the_models() -> None:
    model = with_costs(None)
    table = model.module(True).get_submodule("embeddings.token_type_embeddings")
    table.weight = nn.Parameter(torch.ones(0, WIDTH))
    with pytest.raises(UserError, match=r"embeddings\.token_type_embeddings \(Embedding\)"):
        run_sentence(model, SENTENCE, random_weights=True)
