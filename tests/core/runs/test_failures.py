"""Errors of a model become one line; errors of this program are raised unchanged."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs import activation_cache, recording
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.failures import failure_reason
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.checks.small_models import SENTENCE, small_model


def failure(model: LoadedModel) -> str:
    with pytest.raises(UserError) as raised:
        run_sentence(model, SENTENCE, random_weights=True)
    (line,) = str(raised.value).splitlines()
    assert len(line) < 500
    return line


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (IndexError("index out of range in self"), "an index is out of range"),
        (RuntimeError("one line\n  and another"), "one line and another"),
        (ValueError("long " * 1000 + "end"), "long long"),
        (ValueError("long " * 1000 + "end"), "long end"),
        # Longformer asks for separators where it answers questions.
        (AssertionError("There should be three"), "There should be three"),
        (AssertionError(), "an assertion in its code"),
        (TypeError("topk(): argument 'k' must be int"), "TypeError: topk(): argument 'k' must"),
        (KeyError("full_attention"), "KeyError: 'full_attention'"),
        (AttributeError("'NoneType' object has no"), "AttributeError: 'NoneType' object"),
        (NotImplementedError(), "it does not implement"),
        (ZeroDivisionError("division by zero"), "it divides by zero"),
        (torch.OutOfMemoryError("Tried to allocate 2 GiB"), "not enough memory: Tried"),
        (torch.AcceleratorError("device-side assert"), "the device failed: device-side"),
    ],
)
def test_what_a_model_says_is_one_short_line_with_the_module(error: Exception, said: str) -> None:
    class Odd(nn.Module):
        def forward(self, *_args: object, **_kwargs: object) -> None:
            raise error

    model = small_model("bert")
    model.module(True).get_submodule("encoder.layer.1").output = Odd()
    line = failure(model)
    assert line.startswith("tiny-bert: the model cannot run this sentence: ")
    assert said in line
    if not isinstance(error, torch.OutOfMemoryError | torch.AcceleratorError):
        assert "encoder.layer.1.output (Odd): " in line


def test_a_module_that_is_called_with_the_wrong_arguments() -> None:
    class Odd(nn.Module):
        def forward(self) -> None:
            """Take nothing."""

    model = small_model("bert")
    model.module(True).pooler = Odd()
    assert "sentence: pooler (Odd): TypeError: " in failure(model)


def test_an_odd_configuration(tmp_path: Path) -> None:
    # Its positions are counted from the padding, of which this one knows nothing.
    path = tmp_path / "config.json"
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 33}
    path.write_text(json.dumps({"model_type": "esm", **sizes, "intermediate_size": 40}))
    line = failure(open_model(parse_source(str(path))))
    assert "sentence: embeddings (EsmEmbeddings): TypeError: " in line


@pytest.mark.parametrize("error", [RuntimeError("ours"), TypeError("ours"), KeyError("ours")])
@pytest.mark.parametrize("place", ["measuring", "keeping", "progress"])
def test_what_fails_of_this_program_comes_through(
    error: Exception, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_kwargs: object) -> Any:
        raise error

    model = small_model("bert")
    if place == "measuring":
        monkeypatch.setattr(recording, "first_tensor", fail)
    if place == "keeping":
        monkeypatch.setattr(activation_cache, "as_plain", fail)
    progress: Progress = fail if place == "progress" else no_progress
    model.module(random_weights=True)
    with pytest.raises(type(error)) as raised:
        run_sentence(model, SENTENCE, progress, random_weights=True, cache=ActivationCache())
    assert raised.value is error


def test_torch_fails_for_the_one_who_called_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def badly(tensor: Tensor) -> Any:
        # A function of torch's that is written in Python.
        return nn.functional.layer_norm(tensor, (1,) * 9)

    monkeypatch.setattr(recording, "start_measuring", badly)
    model = small_model("bert")
    with pytest.raises(RuntimeError, match="normalized_shape"):
        run_sentence(model, SENTENCE, random_weights=True)


@pytest.mark.parametrize(
    "said",
    [
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 B",
        "DefaultCPUAllocator: not enough memory: you tried to allocate 8 B",  # on Windows
        "MPS backend out of memory (MPS allocated: 8 GiB)",
    ],
)
def test_want_of_memory_is_told_wherever_it_is_noticed(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_tensor: Tensor) -> Any:
        raise RuntimeError(said)

    monkeypatch.setattr(recording, "start_measuring", fail)
    assert f"sentence: not enough memory: {said}" in failure(small_model("bert"))


def test_an_error_of_no_model_has_no_cause() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.ones(2) @ torch.ones(3)
    assert failure_reason(raised.value, nn.Identity()) is None


def test_a_model_that_failed_is_as_before() -> None:
    model = small_model("bert")
    first = run_sentence(model, Sentence("a cat"), random_weights=True)
    module = model.module(True)
    pooler, module.pooler = module.pooler, nn.Bilinear(1, 1, 1)
    failure(model)
    module.pooler = pooler
    assert run_sentence(model, Sentence("a cat"), random_weights=True).modules == first.modules


def test_a_device_that_lacks_their_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model("bert")
    module = model.module(random_weights=True)

    def to(device: str) -> None:
        if device == "mps":
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")

    monkeypatch.setattr(module, "to", to)
    with pytest.raises(UserError, match="cannot be moved to mps: Cannot convert"):
        model.module(True, device="mps")


def test_a_device_that_does_not_take_the_weights() -> None:
    model = small_model("bert")
    first = run_sentence(model, SENTENCE, random_weights=True)
    with pytest.raises(UserError, match=r"^tiny-bert: its weights cannot be moved to cuda:99: "):
        run_sentence(model, SENTENCE, random_weights=True, device="cuda:99")
    assert run_sentence(model, SENTENCE, random_weights=True).modules == first.modules
