"""Errors of a model become one line; errors of this program are raised unchanged."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs import activation_cache, recording
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.failures import failure_reason
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.checks.small_models import SENTENCE, small_model


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    model = small_model("bert")
    model.module(random_weights=True)
    return model


def failure(model: LoadedModel) -> str:
    """Run a sentence that fails, and return the one line that says why."""
    with pytest.raises(UserError) as raised:
        run_sentence(model, SENTENCE, random_weights=True)
    (line,) = str(raised.value).splitlines()
    assert len(line) < 500
    return line


class Failing(nn.Module):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def forward(self, *_args: object, **_kwargs: object) -> None:
        raise self.error


class WithoutArguments(nn.Module):
    def forward(self) -> None:
        pass


IN_MODULE = "encoder.layer.1.output (Failing): "


@pytest.mark.parametrize(
    ("error", "where", "reason"),
    [
        (IndexError("index out of range in self"), IN_MODULE, "an index is out of range"),
        (RuntimeError("one line\n  and another"), IN_MODULE, "one line and another"),
        (ValueError("long " * 1000 + "end"), IN_MODULE, "long long"),
        (ValueError("long " * 1000 + "end"), IN_MODULE, "long end"),
        # Longformer requires separators where it answers questions.
        (AssertionError("There should be three"), IN_MODULE, "There should be three"),
        (AssertionError(), IN_MODULE, "an assertion in its code"),
        (TypeError("topk(): argument 'k' must be int"), IN_MODULE, "TypeError: topk(): argument"),
        (KeyError("full_attention"), IN_MODULE, "KeyError: 'full_attention'"),
        (AttributeError("'NoneType' object has no"), IN_MODULE, "AttributeError: 'NoneType'"),
        (NotImplementedError(), IN_MODULE, "it does not implement"),
        (ZeroDivisionError("division by zero"), IN_MODULE, "it divides by zero"),
        (torch.OutOfMemoryError("Tried to allocate 2 GiB"), "", "not enough memory: Tried"),
        (torch.AcceleratorError("device-side assert"), "", "the device failed: device-side"),
    ],
)
def test_an_error_of_a_module_is_one_line(
    error: Exception,
    where: str,
    reason: str,
    model: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer: Any = model.module(True).get_submodule("encoder.layer.1")
    monkeypatch.setitem(layer._modules, "output", Failing(error))
    line = failure(model)
    assert line.startswith(f"tiny-bert: the model cannot run this sentence: {where}")
    assert reason in line


def test_a_module_that_gets_the_wrong_arguments(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = model.module(True)
    before = run_sentence(model, SENTENCE, random_weights=True).modules
    with monkeypatch.context() as patch:
        patch.setitem(module._modules, "pooler", WithoutArguments())
        assert "sentence: pooler (WithoutArguments): TypeError: " in failure(model)
    assert run_sentence(model, SENTENCE, random_weights=True).modules == before


def test_a_configuration_that_lacks_a_value() -> None:
    # ESM counts its positions from the padding token.
    model = small_model("esm", pad_token_id=None)
    assert "sentence: embeddings (EsmEmbeddings): TypeError: " in failure(model)


@pytest.mark.parametrize("error", [RuntimeError("ours"), TypeError("ours"), KeyError("ours")])
@pytest.mark.parametrize("place", ["measuring", "caching", "progress"])
def test_errors_of_this_program_are_raised(
    error: Exception, place: str, model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_kwargs: object) -> Any:
        raise error

    if place == "measuring":
        monkeypatch.setattr(recording, "first_tensor", fail)
    if place == "caching":
        monkeypatch.setattr(activation_cache, "as_plain", fail)
    progress: Progress = fail if place == "progress" else no_progress
    with pytest.raises(type(error)) as raised:
        run_sentence(model, SENTENCE, progress, random_weights=True, cache=ActivationCache())
    assert raised.value is error


def test_errors_of_torch_belong_to_its_caller(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(tensor: Tensor) -> Any:
        # A function of torch that is written in Python.
        return nn.functional.layer_norm(tensor, (1,) * 9)

    monkeypatch.setattr(recording, "start_measuring", wrong)
    with pytest.raises(RuntimeError, match="normalized_shape"):
        run_sentence(model, SENTENCE, random_weights=True)
    with pytest.raises(RuntimeError) as raised:
        torch.ones(2) @ torch.ones(3)
    assert failure_reason(raised.value, nn.Identity()) is None


@pytest.mark.parametrize(
    "message",
    [
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 B",
        "DefaultCPUAllocator: not enough memory: you tried to allocate 8 B",  # on Windows
        "MPS backend out of memory (MPS allocated: 8 GiB)",
    ],
)
def test_lack_of_memory_is_reported_wherever_it_is_raised(
    message: str, model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_tensor: Tensor) -> Any:
        raise RuntimeError(message)

    monkeypatch.setattr(recording, "start_measuring", fail)
    assert f"sentence: not enough memory: {message}" in failure(model)


def test_a_device_that_does_not_accept_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model("bert")
    first = run_sentence(model, SENTENCE, random_weights=True)
    with pytest.raises(UserError, match=r"^tiny-bert: its weights cannot be moved to cuda:99: "):
        run_sentence(model, SENTENCE, random_weights=True, device="cuda:99")
    assert run_sentence(model, SENTENCE, random_weights=True).modules == first.modules

    def to(device: str) -> None:
        if device == "mps":
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")

    monkeypatch.setattr(model.module(True), "to", to)
    with pytest.raises(UserError, match="cannot be moved to mps: Cannot convert"):
        model.module(True, device="mps")
