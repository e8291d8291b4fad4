"""Inputs and outputs of modules are bit-identical to those that forward hooks see."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.graph.module_calls import named_in
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.module_tensors import (
    list_tensors,
    module_tensors,
    tensor_corners,
    values_of,
)
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence, TensorKey
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tensors.reduction import ends_of
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.checks.small_models import hook_count
from tests.core.replay.model_runs import Opened, known, opened, ran

DEMO_SENTENCE = Sentence("this is a 12212121 test sentence")
FAMILIES = ("bert", "gpt2", "t5", "albert", "mixtral", "squeezebert", "bart")
Calls = dict[str, list[tuple[dict[str, Tensor], dict[str, Tensor]]]]


def hooked(it: Opened, **more: Any) -> Calls:
    """Return what plain hooks see of every module in a plain pass, by path and call."""
    seen: Calls = {}

    def hook(path: str) -> Any:
        def see(_module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            taken = {str(n): t.clone() for n, t in enumerate(tensors((args, kwargs)))}
            given = {str(n): t.clone() for n, t in enumerate(tensors(output))}
            seen.setdefault(path, []).append((taken, given))

        return see

    module = it.network
    handles = [
        inner.register_forward_hook(hook(path), with_kwargs=True)
        for path, inner in module.named_modules()
    ]
    it.plain(**more)
    for handle in handles:
        handle.remove()
    return seen


def tensors(value: Any) -> list[Tensor]:
    return [tensor for _, tensor in named_in(value)]


def same(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and torch.equal(a.nan_to_num(1.0), b.nan_to_num(1.0))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_module_gave_what_a_hook_sees(family: str) -> None:
    it = known(family)
    checked = 0
    for path, calls in hooked(it).items():
        activation = it.run.activation(path)
        if activation is None:
            continue
        assert len(activation.calls) == len(calls)
        for number, (taken, given) in enumerate(calls):
            took, gave = module_tensors(it, path, call=number)
            # By name they may stand in another order.
            for ours, theirs in ((took, taken), (gave, given)):
                assert len(ours) == len(theirs), path
                left = list(theirs.values())
                for tensor in ours.values():
                    place = next(n for n, other in enumerate(left) if same(tensor, other))
                    del left[place]
            checked += len(gave)
    assert checked > 20


@pytest.mark.parametrize("family", ["bert", "gpt2", "albert", "mixtral"])
def test_the_model_itself_gives_transformers_hidden_states(family: str) -> None:
    it = known(family)
    expected = it.plain(output_hidden_states=True)
    _, gave = module_tensors(it)
    assert torch.equal(gave["last_hidden_state"], expected.last_hidden_state)
    for number, state in enumerate(expected.hidden_states):
        assert torch.equal(gave[f"hidden_states.{number}"], state)
        (giver,) = it.run.state_paths[number]
        # Each call of a shared layer gave one of them.
        calls = range(len(it.run.activation(giver).calls))  # type: ignore[union-attr]
        given = [module_tensors(it, giver, call=call)[1] for call in calls]
        assert any(torch.equal(next(iter(each.values())), state) for each in given)


def test_both_sides_of_an_encoder_decoder() -> None:
    it = known("t5")
    expected = it.plain(output_hidden_states=True)
    _, gave = module_tensors(it)
    for side in ("encoder", "decoder"):
        for number, state in enumerate(expected[f"{side}_hidden_states"]):
            assert torch.equal(gave[f"{side}_hidden_states.{number}"], state)


def test_the_demo() -> None:
    it = ran(open_model(parse_source("demo")), Sentence("The bank raised its rates."))
    expected = it.plain(output_hidden_states=True).hidden_states
    for layer in range(6):
        took, gave = module_tensors(it, f"encoder.layer.{layer}")
        assert torch.equal(took["hidden_states"], expected[layer])
        assert torch.equal(gave["output"], expected[layer + 1])


class Odd(nn.Module):
    """Takes and gives all that a stranger's module may, and changes what it took afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, states: Tensor, *more: Tensor, past: Any = None, **kwargs: Tensor) -> Any:
        del past
        table = torch.zeros(1, states.shape[1], states.shape[1])
        table[0].fill_diagonal_(-torch.inf)
        table[0, 0, 1] = torch.nan
        given = {
            "states": states * self.scale,
            "pair": (more[0] * 2, kwargs["extra"]),
            "mask": table,
            "flags": table[0] < 0,
            "count": torch.tensor(7),
            "wave": torch.fft.rfft(states),
            "words": "not a tensor",
        }
        states.mul_(3)
        return given


class Stranger(nn.Module):
    """Puts an odd module where BERT has its intermediate activation, and goes on."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.odd = Odd()

    def forward(self, states: Tensor) -> Tensor:
        self.odd(states.clone(), states[0], extra=states.bool(), past=(states, {"a": states}))
        result: Tensor = self.inner(states)
        return result


@pytest.fixture
def strange(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Return a made-up model whose code nobody has described, run as the window does."""
    it = opened("bert")
    layer = it.network.encoder.layer[1]
    layer.intermediate.dense = Stranger(layer.intermediate.dense)
    fresh = inspect_module(it.network, it.model.architecture.source, it.model.architecture.config)
    monkeypatch.setattr(it.model, "architecture", fresh)
    return ran(it.model)


ODD = "encoder.layer.1.intermediate.dense.odd"


def test_a_stranger_is_seen_at_the_moment_of_its_call(strange: Opened) -> None:
    took, gave = module_tensors(strange, ODD)
    (_, theirs), *_ = hooked(strange)[ODD]
    assert list(took) == ["states", "more.0", "past.0", "past.1.a", "extra"]
    # What it took was changed in place after that: a hook after the call sees it too late.
    assert torch.equal(took["states"], took["past.0"])
    names = ["states", "pair.0", "pair.1", "mask", "flags", "count", "wave"]
    assert list(gave) == names
    for name, other in zip(names, theirs.values(), strict=True):
        assert same(gave[name].real, other.real) if name == "wave" else same(gave[name], other)
    assert took["extra"].dtype == torch.bool


def test_what_is_no_plain_number_says_so(strange: Opened) -> None:
    listed = {s.key.name: s for s in listing(strange, ODD) if s.key.side == "output"}
    assert listed["wave"].skip_reason == "complex64"
    assert (listed["flags"].dtype, listed["count"].shape) == ("bool", ())
    with pytest.raises(UserError, match="wave is complex64, so its elements"):
        one(strange, ODD, "wave")
    mask = one(strange, ODD, "mask").values.block((0, 2), (0, 2))
    assert np.isneginf(mask[0, 0])
    assert np.isnan(mask[0, 1])
    assert one(strange, ODD, "flags").values.block((0, 1), (0, 1)).dtype == bool
    assert one(strange, ODD, "count").values.block((0, 1), (0, 1)).tolist() == [[7]]


def listing(it: Opened, path: str, call: int = 0) -> tuple[Any, ...]:
    return list_tensors(it, path, call=call)


def one(it: Opened, path: str, name: str = "output", side: str = "output", call: int = 0) -> Any:
    key = TensorKey(side, name)  # type: ignore[arg-type]
    return values_of(it, path, key, call=call)


def test_the_list_has_names_shapes_and_letters() -> None:
    listed = listing(known("bert"), "encoder.layer.1")
    assert [(s.key.side, s.key.name) for s in listed] == [
        ("input", "hidden_states"),
        ("output", "output"),
    ]
    assert listed[0].shape == (1, 9, 24)
    assert listed[0].symbolic_shape == ("1", "S", "D")
    assert listed[0].numel == 9 * 24
    cross = listing(known("t5"), "decoder.block.1")
    assert {s.key.name for s in cross if s.key.side == "input"} == {
        "hidden_states",
        "position_bias",
        "encoder_hidden_states",
        "encoder_decoder_position_bias",
    }


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_values_of_any_precision_are_the_models_own(dtype: torch.dtype) -> None:
    it = opened("bert")
    it.network.to(dtype)
    it = ran(it.model)
    found = one(it, "encoder.layer.1")
    expected = module_tensors(it, "encoder.layer.1")[1]["output"]
    assert found.values.dtype == str(dtype).removeprefix("torch.")
    block = found.values.block((0, 9), (0, 24))
    assert np.array_equal(block, expected[0].to(torch.float64).numpy().astype(block.dtype))


def test_each_call_of_a_shared_layer() -> None:
    it = known("albert")
    path = "encoder.albert_layer_groups.0.albert_layers.0"
    expected = it.plain(output_hidden_states=True).hidden_states
    for call in (0, 1):
        block = one(it, path, call=call).values.block((0, 12), (0, 24))
        assert np.array_equal(block, expected[call + 1][0].numpy())
    with pytest.raises(IndexError):
        one(it, path, call=2)


def test_values_are_a_copy_that_keeps_nothing_else_alive() -> None:
    it = known("bert")
    path = "encoder.layer.1"
    elements = one(it, path, "hidden_states", "input").values.elements
    assert elements is not None
    before = elements.copy()
    with torch.no_grad():
        kept = it.cache.calls[path][0].args[0]
        assert elements.base is None or elements.nbytes == 9 * 24 * 4
        assert not np.shares_memory(elements, kept.numpy())
    assert np.array_equal(elements, before)


def test_what_was_not_called_or_is_not_there() -> None:
    it = known("bert")
    with pytest.raises(UserError, match=r"encoder.layer was not called in this run"):
        listing(it, "encoder.layer")
    with pytest.raises(UserError, match=r"pooler has no output tensor 'nothing' in this call"):
        one(it, "pooler", "nothing")


def test_a_file_has_what_it_is_of() -> None:
    it = known("bert")
    found = one(it, "pooler")
    assert found.metadata["sentence"] == "the cat sat on the mat"
    assert found.metadata["weights"] == "random"
    assert (found.metadata["module"], found.metadata["tensor"]) == ("pooler", "output")
    assert found.values.origin.is_random


def test_cancelled() -> None:
    it = opened("bert")
    hooks = hook_count(it.network)

    def stop(done: int, total: int, label: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        list_tensors(it, "encoder.layer.0", stop)
    assert hook_count(it.network) == hooks
    assert "forward" not in vars(it.network.encoder.layer[0])


def test_an_activation_that_all_layers_hold_is_seen_in_each_of_its_calls(tmp_path: Path) -> None:
    """XLM's layers share one, which is listed in the first of them."""
    sizes = {"vocab_size": 97, "emb_dim": 24, "n_layers": 2, "n_heads": 3}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "xlm", **sizes}))
    it = ran(open_model(parse_source(str(tmp_path / "config.json"))))
    path = "ffns.0.act"
    seen = [next(iter(given.values())) for _, given in hooked(it)[path]]
    for number, expected in enumerate(seen):
        _, gave = module_tensors(it, path, call=number)
        assert torch.equal(gave["output"], expected)
    assert len(seen) == 2
    assert len(replay(it.model, it.cache, [path]).calls[path]) == 2


def test_corners_are_those_of_transformers_bit_by_bit(demo_source: ModelSource) -> None:
    model, kept = open_model(demo_source), ActivationCache()
    run = run_sentence(model, DEMO_SENTENCE, cache=kept)
    with torch.no_grad():
        states = model.running_module(**{**kept.inputs, "output_hidden_states": True}).hidden_states
    for layer in (0, 3, 5):
        (taken, took), (given, gave) = tensor_corners(
            CachedRun(model, run, kept), f"encoder.layer.{layer}"
        )
        assert (taken.side, taken.name) == ("input", "hidden_states")
        assert (given.side, given.name) == ("output", "output")
        for corner, state in ((took, states[layer]), (gave, states[layer + 1])):
            assert corner.shape == (1, 11, 384)
            assert corner.rows == (0, 1, 2, 3, 9, 10)
            assert corner.columns == (0, 1, 2, 3, 382, 383)
            expected = state[0][list(corner.rows)][:, list(corner.columns)].numpy()
            assert np.array_equal(corner.values, expected.astype(np.float64))
    assert took.tokens == ("[CLS]", "this", "is", "a", "sentence", "[SEP]")


def test_the_corner_of_a_vector_is_one_row(demo_source: ModelSource) -> None:
    model, kept = open_model(demo_source), ActivationCache("units")
    run = run_sentence(model, DEMO_SENTENCE, cache=kept)
    corners = dict(tensor_corners(CachedRun(model, run, kept), "pooler"))
    (pooled,) = (corner for key, corner in corners.items() if key.side == "output")
    assert pooled.rows == (0,)
    assert pooled.values.shape == (1, 6)
    assert pooled.values[0, 5] == run.outputs["pooler_output"][0, 383]


def test_the_ends_of_a_short_axis_are_all_of_it() -> None:
    assert ends_of(7) == (0, 1, 2, 3, 4, 5, 6)
    assert ends_of(8) == (0, 1, 2, 3, 6, 7)
    assert ends_of(1) == (0,)
