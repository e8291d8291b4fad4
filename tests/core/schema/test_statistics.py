"""Statistics of a run, compared with plain loops over the tensors of hooks; merged sums."""

import json
import math
from contextlib import ExitStack
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
from tests.core.checks.small_models import small_model
from tests.core.runs.plain_figures import assert_figures


@torch.inference_mode()
def called(model: nn.Module, run: ActivationRun) -> tuple[dict[str, list[Tensor]], Any]:
    """Call a model with the tokens of a run; return each module's outputs, and the model's."""
    found: dict[str, list[Tensor]] = {}
    ids = torch.tensor([[token.id for token in run.tokens]])
    segments = torch.tensor([[token.segment for token in run.tokens]])

    def keep(path: str, output: Any) -> None:
        first = output if isinstance(output, Tensor) else output[0]
        found.setdefault(path, []).append(first.clone())

    with ExitStack() as stack:
        for path, module in model.named_modules():
            hook = module.register_forward_hook(lambda _m, _a, out, path=path: keep(path, out))
            stack.enter_context(hook)
        output = model(ids, token_type_ids=segments, output_hidden_states=True)
    return found, output


def test_every_statistic_of_the_demo(demo_source: ModelSource) -> None:
    sentence = Sentence("this is a 12212121 test sentence", "and another one")
    run = run_sentence(open_model(demo_source), sentence)
    # Loaded by transformers alone: the program must open the published model.
    model = transformers.AutoModel.from_pretrained(demo_folder(), local_files_only=True).eval()
    outputs, result = called(model, run)
    assert {module.path for module in run.modules} == set(outputs)
    for entry in run.to_json()["modules"]:
        (tensor,) = outputs[entry["path"]]
        assert entry["output_shape"] == list(tensor.shape), entry["path"]
        assert_figures(entry, tensor, entry["path"], extremes=1e-5)
    for norms, state in zip(run.token_norms, result.hidden_states, strict=True):
        by_loop = [math.sqrt(math.fsum(x * x for x in row)) for row in state[0].tolist()]
        assert norms == pytest.approx(by_loop, rel=1e-5)


def test_input_and_output_shapes(tiny_bert_folder: Path) -> None:
    run = run_sentence(open_model(parse_source(str(tiny_bert_folder))), Sentence("the cat sat"))
    shapes = {module.path: (module.input_shape, module.output_shape) for module in run.modules}
    assert shapes["embeddings.word_embeddings"] == ((1, 5), (1, 5, 32))
    assert shapes["encoder.layer.1.intermediate.dense"] == ((1, 5, 32), (1, 5, 64))
    assert shapes["pooler.dense"] == ((1, 32), (1, 32))


@torch.inference_mode()
def test_nan_and_inf_are_counted_apart(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    module = model.module(random_weights=False)
    bias = module.get_parameter("encoder.layer.1.intermediate.dense.bias")
    bias[3], bias[5], bias[6] = math.nan, math.inf, -math.inf
    run = run_sentence(model, Sentence("the cat sat on the mat"))
    tokens = len(run.tokens)
    spoiled = run.activation("encoder.layer.1.intermediate.dense")
    assert spoiled is not None
    assert (spoiled.statistics.nan_count, spoiled.statistics.inf_count) == (tokens, 2 * tokens)
    for path, (tensor,) in called(module, run)[0].items():
        activation = run.activation(path)
        assert activation is not None
        if tensor.isfinite().any():
            assert_figures(activation.statistics, tensor, path, extremes=1e-5)
    # After the next matrix product all elements are NaN.
    last = run.activation("encoder.layer.1.output.dense")
    assert last is not None
    assert last.statistics.nan_count == tokens * 32
    assert last.statistics.mean is last.statistics.std is last.statistics.max is None
    document = json.loads(json.dumps(run.to_json(), allow_nan=False))
    norms = document["hidden_states"]["token_norms"]
    assert norms[2] == [None] * tokens
    assert None not in norms[1]


def test_a_shared_layer_has_statistics_of_each_call() -> None:
    model = small_model("albert", num_hidden_layers=5)
    path = "encoder.albert_layer_groups.0.albert_layers.0.ffn"  # not of mean 0
    run = run_sentence(model, Sentence("one two three"), random_weights=True)
    outputs = called(model.module(random_weights=True), run)[0][path]
    layer = run.activation(path)
    assert layer is not None
    assert len(layer.calls) == len(outputs) == 5
    for call, tensor in zip(layer.calls, outputs, strict=True):
        assert_figures(call, tensor, extremes=1e-5)
    assert_figures(layer.statistics, torch.cat(outputs), extremes=1e-5)


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
