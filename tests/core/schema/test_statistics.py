"""Statistics of a run, compared with plain loops over tensors of single modules; merged sums."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.building.backend import transformers
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.statistics import NO_ELEMENTS, Statistics
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import demo_folder
from tests.core.runs.plain_figures import assert_figures

TEXT = "this is a 12212121 test sentence"
Outputs = dict[str, Tensor]


def by_hand(model: nn.Module, ids: Tensor, segments: Tensor) -> Outputs:
    """Return the outputs of all modules of a BERT, from calls of single submodules."""
    found: Outputs = {}

    def call(path: str, *inputs: Tensor) -> Tensor:
        result = model.get_submodule(path)(*inputs)
        found[path] = result[0] if isinstance(result, tuple) else result
        return found[path]

    positions = torch.arange(ids.shape[1]).unsqueeze(0)
    summed = (
        call("embeddings.word_embeddings", ids)
        + call("embeddings.token_type_embeddings", segments)
        + call("embeddings.position_embeddings", positions)
    )
    hidden = call("embeddings.dropout", call("embeddings.LayerNorm", summed))
    found["embeddings"] = hidden
    layers: Any = model.get_submodule("encoder.layer")
    for number in range(len(layers)):
        layer = f"encoder.layer.{number}"
        for name in ("query", "key", "value"):
            call(f"{layer}.attention.self.{name}", hidden)
        attended = call(f"{layer}.attention.self", hidden)
        dense = call(f"{layer}.attention.output.dense", attended)
        dropped = call(f"{layer}.attention.output.dropout", dense)
        normed = call(f"{layer}.attention.output.LayerNorm", dropped + hidden)
        found[f"{layer}.attention.output"] = found[f"{layer}.attention"] = normed
        wide = call(f"{layer}.intermediate.dense", normed)
        active = call(f"{layer}.intermediate.intermediate_act_fn", wide)
        found[f"{layer}.intermediate"] = active
        dropped = call(f"{layer}.output.dropout", call(f"{layer}.output.dense", active))
        hidden = call(f"{layer}.output.LayerNorm", dropped + normed)
        found[f"{layer}.output"] = found[layer] = hidden
    found["encoder"] = found[""] = hidden
    pooled = call("pooler.activation", call("pooler.dense", hidden[:, 0]))
    found["pooler"] = pooled
    return found


def compare(run: ActivationRun, expected: Outputs) -> None:
    assert {module.path for module in run.modules} == set(expected)
    for entry in run.to_json()["modules"]:
        tensor = expected[entry["path"]]
        assert entry["output_shape"] == list(tensor.shape), entry["path"]
        assert_figures(entry, tensor, entry["path"], extremes=1e-5)


def inputs_of(run: ActivationRun) -> tuple[Tensor, Tensor]:
    ids = torch.tensor([[token.id for token in run.tokens]])
    return ids, torch.tensor([[token.segment for token in run.tokens]])


@torch.inference_mode()
def test_every_statistic_of_the_demo(demo_source: ModelSource) -> None:
    run = run_sentence(open_model(demo_source), Sentence(TEXT, "and another one"))
    # Loaded by transformers alone: the program must open the published model.
    model = transformers.AutoModel.from_pretrained(demo_folder(), local_files_only=True).eval()
    ids, segments = inputs_of(run)
    expected = by_hand(model, ids, segments)
    output = model(ids, token_type_ids=segments, output_hidden_states=True)
    for number, state in enumerate(output.hidden_states[1:]):
        torch.testing.assert_close(expected[f"encoder.layer.{number}"], state)
    compare(run, expected)
    assert len(run.modules) == 6 * 17 + 11
    for norms, state in zip(run.token_norms, output.hidden_states, strict=True):
        by_loop = [math.sqrt(math.fsum(x * x for x in row)) for row in state[0].tolist()]
        assert norms == pytest.approx(by_loop, rel=1e-5)


@torch.inference_mode()
def test_input_and_output_shapes(tiny_bert_folder: Path) -> None:
    run = run_sentence(open_model(parse_source(str(tiny_bert_folder))), Sentence("the cat sat"))
    shapes = {module.path: (module.input_shape, module.output_shape) for module in run.modules}
    assert shapes["embeddings.word_embeddings"] == ((1, 5), (1, 5, 32))
    assert shapes["encoder.layer.1.attention.self.query"] == ((1, 5, 32), (1, 5, 32))
    assert shapes["encoder.layer.1.intermediate.dense"] == ((1, 5, 32), (1, 5, 64))
    assert shapes["encoder.layer.1.output.dense"] == ((1, 5, 64), (1, 5, 32))
    assert shapes["pooler.dense"] == ((1, 32), (1, 32))


@torch.inference_mode()
def test_nan_and_inf_are_counted_apart(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    module = model.module(random_weights=False)
    bias = module.get_submodule("encoder.layer.1.intermediate.dense").get_parameter("bias")
    bias[3], bias[5], bias[6] = math.nan, math.inf, -math.inf
    run = run_sentence(model, Sentence("the cat sat on the mat"))
    tokens = len(run.tokens)
    spoiled = run.activation("encoder.layer.1.intermediate.dense")
    assert spoiled is not None
    assert spoiled.statistics.nan_count == tokens
    assert spoiled.statistics.inf_count == 2 * tokens
    expected = by_hand(module, *inputs_of(run))
    compare_spoiled = {path: tensor for path, tensor in expected.items() if tensor.isfinite().any()}
    for path, tensor in compare_spoiled.items():
        activation = run.activation(path)
        assert activation is not None
        assert_figures(activation.statistics, tensor, path, extremes=1e-5)
    # After the next matrix product all elements are NaN.
    last = run.activation("encoder.layer.1.output.dense")
    assert last is not None
    assert last.statistics.nan_count == tokens * 32
    assert last.statistics.mean is last.statistics.std is last.statistics.max is None


@torch.inference_mode()
def test_a_run_with_nan_is_valid_json(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    module = model.module(random_weights=False)
    module.get_submodule("encoder.layer.1.output.dense").get_parameter("bias")[0] = math.nan
    run = run_sentence(model, Sentence("the cat sat"))
    document = json.loads(json.dumps(run.to_json(), allow_nan=False))
    assert document["hidden_states"]["token_norms"][2] == [None] * 5
    assert None not in document["hidden_states"]["token_norms"][1]


def test_a_shared_layer_has_statistics_of_each_call(tmp_path: Path) -> None:
    config = {
        "model_type": "albert",
        "vocab_size": 120,
        "embedding_size": 16,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 5,
        "max_position_embeddings": 40,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    model = open_model(parse_source(str(path)))
    run = run_sentence(model, Sentence("one two three"), random_weights=True)
    assert run.source.weights == "random"
    assert run.tokenizer == "stand-in"
    (layer,) = (module for module in run.modules if module.class_name == "AlbertLayer")
    assert len(layer.calls) == 5
    assert layer.statistics.count == 5 * len(run.tokens) * 32
    module = model.module(random_weights=True)
    ids, segments = inputs_of(run)
    with torch.inference_mode():
        states = module(ids, token_type_ids=segments, output_hidden_states=True).hidden_states
    for call, state in zip(layer.calls, states[1:], strict=True):
        assert_figures(call, state, extremes=1e-5)
    assert_figures(layer.statistics, torch.cat(states[1:]), extremes=1e-5)


def test_sums_in_different_units_are_merged_in_the_larger() -> None:
    one = Statistics(1, 0, 0, 0, 1.5, 0.0, 1.5, 1.5)
    huge = replace(one, min=1.5 * 2.0**600, max=1.5 * 2.0**600, exponent=600)
    for merged in (one.merge(huge), huge.merge(one)):
        assert merged.exponent == 600
        assert merged.mean == merged.std == 0.75 * 2.0**600
    # The unit of zeros does not matter.
    tiny = replace(one, min=1.5 * 2.0**-600, max=1.5 * 2.0**-600, exponent=-600)
    zero = Statistics(1, 0, 0, 1, 0.0, 0.0, 0.0, 0.0)
    for merged in (tiny.merge(zero), NO_ELEMENTS.merge(zero).merge(tiny)):
        assert merged.mean == merged.std == 0.75 * 2.0**-600
