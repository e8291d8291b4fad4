"""Multiply-adds of a run, compared with torch's FLOP counter."""

import json
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
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.macs import Macs, RunCounter, formula_macs
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.graph.narrow_models import BERT, NARROW, counted_by_torch, is_known_to_torch

HEADS = (
    ("bert", "masked-lm"),
    ("bert", "sequence-classification"),
    ("bert", "question-answering"),
    ("albert", "masked-lm"),
    ("distilbert", "sequence-classification"),
    ("llama", "sequence-classification"),
)
IDS, DECODER_IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12, 13]]), torch.tensor([[5, 6, 7, 8]])


def build(family: str, task: str = "base", **changes: Any) -> Any:
    config = build_config({"model_type": family, **NARROW[family], **changes}, family)
    return build_random(config, find_task(task), family)


def inputs_of(model: Any) -> dict[str, Tensor]:
    decoder = {"decoder_input_ids": DECODER_IDS} if model.config.is_encoder_decoder else {}
    return {"input_ids": IDS, **decoder}


def counted_by_run(model: nn.Module, **inputs: Tensor) -> Mapping[str, Macs]:
    counter = RunCounter(model)
    with torch.no_grad(), counter.counting():
        model(**inputs)
    return counter.macs()


def compare(model: nn.Module, **inputs: Tensor) -> int:
    """Check every module's count, and return the model's."""
    return compare_with(model, model, inputs)


def compare_with(judge: nn.Module, model: nn.Module, inputs: Mapping[str, Tensor]) -> int:
    found = counted_by_run(model, **inputs)
    with counted_by_torch(judge) as counted:
        judge(**inputs)
    assert counted[""] > 0
    for path, macs in found.items():
        assert macs.count is not None, (path, macs.reason)
        if is_known_to_torch(model.get_submodule(path)):
            assert 2 * macs.count == counted.get(path, 0), path
    root = found[""].count
    assert root is not None
    return root


@pytest.mark.parametrize(("family", "task"), [*((family, "base") for family in NARROW), *HEADS])
def test_torch_counts_the_same_in_every_module(family: str, task: str) -> None:
    model = build(family, task)
    judge = model
    if family in ("mixtral", "qwen3_moe"):
        # One by one, torch sees the experts' products.
        judge = build(family, task)
        judge.load_state_dict(model.state_dict())
        judge.set_experts_implementation("eager")
    compare_with(judge, model, inputs_of(model))


def test_bert_in_closed_form() -> None:
    length, width, inner, layers = IDS.shape[1], 24, 40, 2
    layer = length * (4 * width**2 + 2 * width * inner) + 2 * length**2 * width
    # The pooler reads one token.
    assert compare(build("bert"), input_ids=IDS) == layers * layer + width**2


def test_two_sentences_at_once() -> None:
    model = build("distilbert")
    assert compare(model, input_ids=IDS.repeat(2, 1)) == 2 * compare(model, input_ids=IDS)


def test_a_shared_layer_counts_at_each_call() -> None:
    length, width, inner = IDS.shape[1], 24, 40
    layer = length * (4 * width**2 + 2 * width * inner) + 2 * length**2 * width
    total = compare(build("albert", num_hidden_layers=3), input_ids=IDS)
    assert total == 3 * layer + length * 16 * width + width**2


def test_encoder_and_decoder_of_different_lengths() -> None:
    source, target, width, inner = IDS.shape[1], DECODER_IDS.shape[1], 24, 40
    total = compare(build("transformer-base"), **inputs_of(build("transformer-base")))
    forward = 2 * width * inner

    def attention(queries: int, keys: int) -> int:
        return 2 * (queries + keys) * width**2 + 2 * queries * keys * width

    encoder = attention(source, source) + source * forward
    decoder = attention(target, target) + attention(target, source) + target * forward
    assert total == 2 * encoder + 2 * decoder


def test_an_attention_that_is_exchanged_while_it_runs_counts() -> None:
    sizes = {**BERT, "max_position_embeddings": 64, "block_size": 4, "num_random_blocks": 1}
    config = build_config({"model_type": "big_bird", **sizes}, "test")
    model: Any = build_random(config, find_task("base"), "test")
    attention = model.encoder.layer[0].attention.self
    root = counted_by_run(model, input_ids=IDS)[""]
    assert model.encoder.layer[0].attention.self is not attention
    # It is done by now.
    with counted_by_torch(model) as counted:
        model(input_ids=IDS)
    assert root.count is not None
    assert 2 * root.count == counted[""]


class Rnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(4, 4)
        self.recurrent = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.recurrent(self.dense(x))[0]
        return y


def test_what_hides_its_products_has_no_count_but_a_reason_and_so_has_what_holds_it() -> None:
    hidden = "the matrix products of aten::mkldnn_rnn_layer are not known"
    assert counted_by_run(Rnn(), x=torch.ones(1, 7, 4)) == {
        "": Macs(None, f"recurrent: {hidden}"),
        "dense": Macs(7 * 4 * 4),
        "recurrent": Macs(None, hidden),
    }


def test_operations_that_torch_did_not_write_are_not_taken_for_nothing() -> None:
    @torch.library.custom_op("bertviewer_tests::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x @ x

    class Squared(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = twice(x)
            return y

    expected = Macs(None, "the matrix products of bertviewer_tests::twice are not known")
    assert counted_by_run(Squared(), x=torch.ones(3, 3)) == {"": expected}
    # Where nobody listens to that, it is an error.
    with pytest.raises(NotImplementedError, match="bertviewer_tests::twice"), ProductMode(print):
        twice(torch.ones(3, 3))


def test_a_call_that_ends_in_an_error_is_over() -> None:
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

    # What was done until then was done, by the module that caught it.
    assert counted_by_run(Catches(), x=torch.ones(2, 2)) == {
        "": Macs(8 + 12 + 12),
        "dense": Macs(12),
    }


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("bert")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **BERT}))
    model = open_model(parse_source(str(folder)))
    model.with_formulas()
    return model


def without_formulas(model: LoadedModel) -> LoadedModel:
    bare = open_model(model.source)
    bare.architecture = replace(bare.architecture, costs=None)
    return bare


def test_formulas_and_a_count_say_the_same_of_each_module(bert: LoadedModel) -> None:
    sentence = Sentence("the bank of the river")
    run = run_sentence(bert, sentence, random_weights=True)
    assert formula_macs(bert.architecture, run.tokens) is not None
    counted = run_sentence(without_formulas(bert), sentence, random_weights=True)
    found = {module.path: (module.macs, module.macs_reason) for module in run.modules}
    assert found == {m.path: (m.macs, m.macs_reason) for m in counted.modules}
    assert found["encoder.layer.0.attention.self.query"] == (len(run.tokens) * 24**2, "")


def test_a_formula_is_not_there_for_each_module_so_all_are_counted(bert: LoadedModel) -> None:
    architecture = bert.architecture
    costs = architecture.costs
    assert costs is not None
    one = replace(costs.modules["pooler"], macs=None)
    without = replace(costs, modules={**costs.modules, "pooler": one})
    tokens = run_sentence(bert, Sentence("a"), random_weights=True).tokens
    assert formula_macs(replace(architecture, costs=without), tokens) is None
    uneven = replace(costs.modules["pooler"], macs="S//2")
    halved = replace(costs, modules={**costs.modules, "pooler": uneven})
    assert formula_macs(replace(architecture, costs=halved), tokens) is None


def test_where_formulas_know_nothing_of_a_module_that_was_called_all_are_counted(
    bert: LoadedModel,
) -> None:
    costs = bert.architecture.costs
    assert costs is not None
    sentence = Sentence("the bank of the river")
    known = {m.path: m.macs for m in run_sentence(bert, sentence, random_weights=True).modules}
    fewer = {path: module for path, module in costs.modules.items() if path != "pooler.dense"}
    bare = without_formulas(bert)
    bare.architecture = replace(bare.architecture, costs=replace(costs, modules=fewer))
    assert {
        m.path: m.macs for m in run_sentence(bare, sentence, random_weights=True).modules
    } == known


def test_what_is_counted_says_why_there_is_no_formula(bert: LoadedModel) -> None:
    costs = bert.architecture.costs
    assert costs is not None
    why = "no formula fits"
    pooler = replace(costs.modules["pooler"], macs=None, reason=why)
    bare = without_formulas(bert)
    modules = {**costs.modules, "pooler": pooler}
    bare.architecture = replace(bare.architecture, costs=replace(costs, modules=modules))
    found = {m.path: m for m in run_sentence(bare, Sentence("a"), random_weights=True).modules}
    assert found["pooler"].macs == 24**2
    assert (
        found["pooler"].macs_reason == f"as counted in this run, because there is no formula: {why}"
    )
    assert found["pooler.dense"].macs_reason == ""


def test_a_failure_under_the_counter_is_the_models(bert: LoadedModel) -> None:
    bare = without_formulas(bert)
    module = bare.module(random_weights=True)
    module.get_submodule("embeddings.token_type_embeddings").weight = nn.Parameter(
        torch.ones(0, 24)
    )
    with pytest.raises(UserError, match=r"embeddings\.token_type_embeddings \(Embedding\)"):
        run_sentence(bare, Sentence("the bank"), random_weights=True)
