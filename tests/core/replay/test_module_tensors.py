"""Inputs and outputs of modules are bit-identical to those that forward hooks get."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.graph.module_calls import named_in
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.module_tensors import (
    list_tensors,
    module_tensors,
    tensor_corners,
    values_of,
)
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.schema.activation_run import Sentence, Side, TensorKey
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tensors.reduction import ends_of
from bertviewer.core.tensors.values import NamedValues
from bertviewer.core.util.errors import UserError
from tests.core.replay.model_runs import Opened, known, opened, ran

Calls = dict[str, list[tuple[list[Tensor], list[Tensor]]]]


def hooked(it: Opened) -> Calls:
    """Return the inputs and outputs that forward hooks get in a plain call, by path and call."""
    seen: Calls = defaultdict(list)

    def tensors(value: Any) -> list[Tensor]:
        return [tensor.clone() for _, tensor in named_in(value)]

    def hook(path: str) -> Any:
        def see(_module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            seen[path].append((tensors((args, kwargs)), tensors(output)))

        return see

    handles = [
        inner.register_forward_hook(hook(path), with_kwargs=True)
        for path, inner in it.network.named_modules()
    ]
    it.plain()
    for handle in handles:
        handle.remove()
    return seen


def is_same(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and torch.equal(a.nan_to_num(1.0), b.nan_to_num(1.0))


def values(
    it: Opened, path: str, name: str = "output", side: Side = "output", call: int = 0
) -> NamedValues:
    return values_of(it, path, TensorKey(side, name), call=call)


@pytest.mark.parametrize(
    "family", ["bert", "gpt2", "t5", "albert", "mixtral", "squeezebert", "bart"]
)
def test_they_are_those_that_hooks_get(family: str) -> None:
    it = known(family)
    checked = 0
    for path, calls in hooked(it).items():
        activation = it.run.activation(path)
        if activation is None:
            continue
        assert len(activation.calls) == len(calls)
        for number, sides in enumerate(calls):
            for found, wanted in zip(module_tensors(it, path, call=number), sides, strict=True):
                assert len(found) == len(wanted), path
                left = list(wanted)  # by name they may be in another order
                for tensor in found.values():
                    del left[next(n for n, other in enumerate(left) if is_same(tensor, other))]
                checked += len(wanted)
    assert checked > 50


def test_layers_of_the_demo_pass_on_hidden_states(demo_source: ModelSource) -> None:
    it = ran(open_model(demo_source), Sentence("this is a 12212121 test sentence"))
    expected = it.plain().hidden_states
    for layer in range(6):
        path = f"encoder.layer.{layer}"
        inputs, outputs = module_tensors(it, path)
        assert torch.equal(inputs["hidden_states"], expected[layer])
        assert torch.equal(outputs["output"], expected[layer + 1])
        for (key, corner), side, name, state in zip(
            tensor_corners(it, path),
            ("input", "output"),
            ("hidden_states", "output"),
            expected[layer : layer + 2],
            strict=True,
        ):
            assert (key.side, key.name, corner.shape) == (side, name, (1, 11, 384))
            assert corner.rows == (0, 1, 2, 3, 9, 10)
            assert corner.columns == (0, 1, 2, 3, 382, 383)
            assert corner.tokens == ("[CLS]", "this", "is", "a", "sentence", "[SEP]")
            wanted = state[0][list(corner.rows)][:, list(corner.columns)].double().numpy()
            assert np.array_equal(corner.values, wanted)
    # A vector is one row.
    corners = {key.side: corner for key, corner in tensor_corners(it, "pooler")}
    assert corners["output"].rows == (0,)
    assert corners["output"].values.shape == (1, 6)
    assert corners["output"].values[0, 5] == it.run.outputs["pooler_output"][0, 383]


@pytest.mark.parametrize(
    ("size", "ends"), [(1, (0,)), (7, tuple(range(7))), (8, (0, 1, 2, 3, 6, 7))]
)
def test_indices_of_a_corner(size: int, ends: tuple[int, ...]) -> None:
    assert ends_of(size) == ends


class Unusual(nn.Module):
    """Has every kind of argument and output, and changes its argument in place at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, states: Tensor, *more: Tensor, past: Any = None, **kwargs: Tensor) -> Any:
        del past
        table = torch.zeros(1, states.shape[1], states.shape[1])
        table[0].fill_diagonal_(-torch.inf)
        table[0, 0, 1] = torch.nan
        outputs = {
            "states": states * self.scale,
            "pair": (more[0] * 2, kwargs["extra"]),
            "mask": table,
            "flags": table[0] < 0,
            "count": torch.tensor(7),
            "wave": torch.fft.rfft(states),
            "words": "not a tensor",
        }
        states.mul_(3)
        return outputs


class Around(nn.Module):
    """Calls an unusual module, and returns the output of the module that it replaces."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.unusual = Unusual()

    def forward(self, states: Tensor) -> Tensor:
        self.unusual(states.clone(), states[0], extra=states.bool(), past=(states, {"a": states}))
        result: Tensor = self.inner(states)
        return result


UNUSUAL = "encoder.layer.1.intermediate.dense.unusual"


@pytest.fixture
def unusual() -> Opened:
    """Return a run of BERT with an unusual module in its last layer."""
    it = opened("bert")
    intermediate = it.network.encoder.layer[1].intermediate
    intermediate.dense = Around(intermediate.dense)
    architecture = it.model.architecture
    it.model.architecture = inspect_module(it.network, architecture.source, architecture.config)
    return ran(it.model)


def test_tensors_are_those_at_the_time_of_the_call(unusual: Opened) -> None:
    inputs, outputs = module_tensors(unusual, UNUSUAL)
    ((_, expected),) = hooked(unusual)[UNUSUAL]
    assert list(inputs) == ["states", "more.0", "past.0", "past.1.a", "extra"]
    # The module changed its argument in place: a hook, which is called after that, gets the change.
    assert torch.equal(inputs["states"], inputs["past.0"])
    assert inputs["extra"].dtype == torch.bool
    assert list(outputs) == ["states", "pair.0", "pair.1", "mask", "flags", "count", "wave"]
    for found, wanted in zip(outputs.values(), expected, strict=True):
        if found.is_complex():
            assert torch.equal(torch.view_as_real(found), torch.view_as_real(wanted))
        else:
            assert is_same(found, wanted)


def test_elements_that_are_no_plain_numbers(unusual: Opened) -> None:
    listed = {it.key.name: it for it in list_tensors(unusual, UNUSUAL) if it.key.side == "output"}
    assert listed["wave"].skip_reason == "complex64"
    assert (listed["flags"].dtype, listed["count"].shape) == ("bool", ())
    with pytest.raises(UserError, match="wave is complex64, so its elements"):
        values(unusual, UNUSUAL, "wave")
    mask = values(unusual, UNUSUAL, "mask").values.block((0, 1), (0, 2))
    assert np.array_equal(mask, [[-np.inf, np.nan]], equal_nan=True)
    assert values(unusual, UNUSUAL, "flags").values.block((0, 1), (0, 1)).dtype == bool
    assert values(unusual, UNUSUAL, "count").values.block((0, 1), (0, 1)).tolist() == [[7]]


def test_listed_names_shapes_and_symbols() -> None:
    layer = list_tensors(known("bert"), "encoder.layer.1")
    assert [(it.key.side, it.key.name) for it in layer] == [
        ("input", "hidden_states"),
        ("output", "output"),
    ]
    assert (layer[0].shape, layer[0].numel) == ((1, 9, 24), 9 * 24)
    assert layer[0].symbolic_shape == ("1", "S", "D")
    cross = list_tensors(known("t5"), "decoder.block.1")
    assert {it.key.name for it in cross if it.key.side == "input"} == {
        "hidden_states",
        "position_bias",
        "encoder_hidden_states",
        "encoder_decoder_position_bias",
    }


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_values_of_any_precision(dtype: torch.dtype) -> None:
    it = opened("bert")
    it.network.to(dtype)
    it = ran(it.model)
    found = values(it, "encoder.layer.1").values
    expected = module_tensors(it, "encoder.layer.1")[1]["output"]
    assert found.dtype == str(dtype).removeprefix("torch.")
    block = found.block((0, 9), (0, 24))
    assert np.array_equal(block, expected[0].to(torch.float64).numpy().astype(block.dtype))


def test_each_call_of_a_shared_layer() -> None:
    it = known("albert")
    path = "encoder.albert_layer_groups.0.albert_layers.0"
    expected = it.plain().hidden_states
    for call in (0, 1):
        block = values(it, path, call=call).values.block((0, len(it.run.tokens)), (0, 24))
        assert np.array_equal(block, expected[call + 1][0].numpy())
    with pytest.raises(IndexError):
        values(it, path, call=2)


def test_a_module_that_layers_share_has_a_call_for_each() -> None:
    """XLM's layers share one activation, which is listed in the first of them."""
    it = opened("xlm", vocab_size=97, emb_dim=24, n_layers=2, n_heads=3)
    path = "ffns.0.act"
    calls = hooked(it)[path]
    assert len(calls) == len(replay(it.model, it.cache, [path]).calls[path]) == 2
    for number, (_, (expected,)) in enumerate(calls):
        _, outputs = module_tensors(it, path, call=number)
        assert torch.equal(outputs["output"], expected)


def test_values_are_a_copy() -> None:
    it = known("bert")
    path = "encoder.layer.1"
    elements = values(it, path, "hidden_states", "input").values.elements
    assert elements is not None
    kept = it.cache.calls[path][0].args[0]
    assert np.array_equal(elements, kept[0].numpy())
    assert not np.shares_memory(elements, kept.numpy())


def test_modules_and_tensors_that_do_not_exist() -> None:
    it = known("bert")
    with pytest.raises(UserError, match=r"encoder.layer was not called in this run"):
        list_tensors(it, "encoder.layer")
    with pytest.raises(UserError, match=r"pooler has no output tensor 'nothing' in this call"):
        values(it, "pooler", "nothing")


def test_metadata_says_what_the_values_are() -> None:
    found = values(known("bert"), "pooler")
    assert found.metadata["sentence"] == "the cat sat on the mat"
    assert found.metadata["weights"] == "random"
    assert (found.metadata["module"], found.metadata["tensor"]) == ("pooler", "output")
    assert found.values.origin.is_random
