"""A recorder measures the outputs of modules, each tensor once, and keeps none of them."""

import json
import warnings
from collections.abc import Callable
from typing import Any
from weakref import ReferenceType, ref

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.checks.check import check_run
from bertviewer.core.replay.outputs import call_statistics, histogram_of
from bertviewer.core.runs import recording
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.macs import RunCounter
from bertviewer.core.runs.measuring import measure, skip_reason, start_measuring
from bertviewer.core.runs.recording import Recorder
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.statistics import row_statistics
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress
from bertviewer.report.run_text import run_text
from tests.core.replay.model_runs import opened
from tests.core.runs.plain_figures import assert_figures

X = torch.randn(1, 4, 6, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Return copies of the tensors that are measured."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Any:
        tensors.append(tensor.clone())
        return start_measuring(tensor)

    monkeypatch.setattr(recording, "start_measuring", note)
    return tensors


def record(model: nn.Module, x: Tensor) -> dict[str, ModuleActivation]:
    recorder = Recorder(model, no_progress)
    with torch.no_grad(), recorder.recording():
        model.eval()(x)
    return {activation.path: activation for activation in recorder.activations()}


class Apply(nn.Module):
    """Returns a function of its input, or a constant."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


class Shifted(nn.Module):
    """Passes a tensor on, and adds to it in place."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.inner = nn.Dropout()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.inner(x)
        return result.add_(self.by) if self.by else result


def doubled(x: Tensor) -> Tensor:
    return x * 2


def test_a_tensor_that_is_passed_on_is_measured_once(measured: list[Tensor]) -> None:
    found = record(nn.Sequential(Shifted(0), nn.Dropout(), nn.Identity()), torch.ones(1, 2, 3))
    assert len(measured) == 1
    assert len(found) == 5
    assert {activation.statistics.mean for activation in found.values()} == {1.0}


@pytest.mark.parametrize("is_inference", [False, True])
def test_a_tensor_that_is_changed_in_place_is_measured_again(is_inference: bool) -> None:
    model = nn.Sequential(Shifted(5), nn.Dropout()).eval()
    recorder = Recorder(model, no_progress)
    mode = torch.inference_mode() if is_inference else torch.no_grad()
    with mode, recorder.recording():
        model(torch.ones(1, 2, 3))
    found = {activation.path: activation for activation in recorder.activations()}
    means = {path: activation.statistics.mean for path, activation in found.items()}
    assert means == {"0.inner": 1.0, "0": 6.0, "1": 6.0, "": 6.0}
    assert found["0.inner"].token_norms == pytest.approx([3**0.5] * 2)


def test_other_tensors_in_the_same_memory_are_measured() -> None:
    inner = Apply(doubled)

    def reusing(x: Tensor) -> Tensor:
        for number in range(20):
            inner(x + number)  # the result is dropped, so its memory is used again
        return x

    model = Apply(reusing)
    model.inner = inner
    (found,) = (one for one in record(model, torch.zeros(1, 50, 50)).values() if one.path)
    assert [call.mean for call in found.calls] == [2.0 * number for number in range(20)]


def test_no_tensor_is_kept_alive() -> None:
    outputs: list[ReferenceType[Tensor]] = []
    alive: list[int] = []

    def note(x: Tensor) -> Tensor:
        alive.append(sum(reference() is not None for reference in outputs))
        result = x * 2
        outputs.append(ref(result))
        return result

    record(nn.Sequential(*(Apply(note) for _ in range(6))), torch.ones(2, 2))
    assert alive == [0, *[1] * 5]  # the input of the module that is called
    assert not any(reference() is not None for reference in outputs[:-1])


def test_producers_are_found_by_their_elements() -> None:
    view, half = Apply(lambda x: x.view(4, 3)), Apply(lambda x: x[:2])
    model = nn.Sequential(Apply(doubled), nn.Identity(), view, Apply(doubled), half)
    recorder = Recorder(model, no_progress)
    with torch.no_grad(), recorder.recording():
        first = model[:2](torch.ones(2, 6))
        last = model[3](model[2](first))
        model[4](last)
    assert recorder.producers(first) == ["0", "1", "2"]
    assert recorder.producers(first.view(3, 4)) == ["0", "1", "2"]
    assert recorder.producers(last) == ["3"]
    assert recorder.producers(last[:2]) == ["4"]
    # Another part of the same memory, equal elements elsewhere, and the same ones after a change.
    assert recorder.producers(last[2:]) == []
    assert recorder.producers(first.clone()) == []
    first += 1
    assert recorder.producers(first) == []


@pytest.mark.parametrize(
    ("view", "is_same"),
    [
        # The first row again and again, of as many elements, in the same memory.
        (lambda x: x[:, :1].expand(1, 4, 4), False),
        (lambda x: x.as_strided((1, 4, 4), (8, 1, 2)), False),
        # The same elements transposed, and without an axis of size 1.
        (lambda x: x.transpose(1, 2), True),
        (lambda x: x.transpose_(1, 2), False),  # in place
        (lambda x: x[0].T.view(2, 2, 4), True),
    ],
)
def test_a_view_has_its_own_producers_and_norms(
    view: Callable[[Tensor], Tensor], is_same: bool
) -> None:
    model = nn.Sequential(Apply(doubled), Apply(view))
    recorder = Recorder(model, no_progress)
    with torch.no_grad(), recorder.recording():
        inner = model[0](torch.arange(16.0).view(1, 4, 4))
        outer = model[1](inner)
    assert recorder.producers(outer) == (["0", "1"] if is_same else ["1"])
    if outer is not inner:
        assert recorder.producers(inner) == (["0", "1"] if is_same else ["0"])
    norms = recorder.activations()[-1].token_norms
    assert norms == (pytest.approx(outer[0].norm(dim=1).tolist()) if len(outer) == 1 else None)


def test_new_tensors_in_freed_memory_have_no_producers() -> None:
    model = Apply(doubled)
    recorder = Recorder(model, no_progress)
    with torch.no_grad(), recorder.recording():
        for _ in range(50):
            model(torch.ones(64, 64))
    others = [torch.empty(64, 64) for _ in range(50)]
    assert all(recorder.producers(other) == [] for other in others)


@pytest.mark.parametrize("shape", [(1, 4, 6), (2, 4, 6), (4, 6), (6,), ()])
def test_only_tokens_of_one_sentence_have_norms(shape: tuple[int, ...]) -> None:
    norms = record(nn.Sequential(Apply(doubled)), torch.ones(shape))["0"].token_norms
    if shape == (1, 4, 6):
        assert norms == pytest.approx([2 * 6**0.5] * 4)
    else:
        assert norms is None


def output_of(make: Callable[[Tensor], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls some of these a prototype
        return make(X)


def recorded(output: Any) -> dict[str, ModuleActivation]:
    """Let modules return and receive an output, and record it in every way at once."""
    model = nn.Sequential(Apply(lambda _: output), nn.Identity(), Apply(lambda _: X))
    recorder, counter, cache = Recorder(model, no_progress), RunCounter(model), ActivationCache()
    caching = cache.recording(dict(model.named_modules()))
    with torch.no_grad(), recorder.recording(), caching, counter.counting():
        model(X)
    assert recorder.producers(X) == ["2", ""]
    assert set(cache.calls) == {"", "0", "1", "2"}
    found = {activation.path: activation for activation in recorder.activations(counter.macs())}
    assert found["2"].token_norms is not None
    return found


MEASURED: dict[str, Callable[[Tensor], Tensor]] = {
    "float64": Tensor.double,
    "float16": Tensor.half,
    "bfloat16": Tensor.bfloat16,
    "float8": lambda x: x.to(torch.float8_e4m3fn),
    "int64": lambda x: (x * 10).long(),
    "uint16": lambda x: (x.abs() * 10).to(torch.uint16),
    "bool": lambda x: x > 0,
    "no tokens": lambda x: x[:, :0],
    "no features": lambda x: x[..., :0],
    "a number": Tensor.sum,
    "a parameter": lambda x: nn.Parameter(x.clone()),
    "imaginary parts": lambda x: torch.complex(x, x).conj().imag,
}


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("kind", MEASURED)
def test_outputs_of_any_dtype_are_measured(
    kind: str, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_compiled:
        monkeypatch.setattr(row_statistics, "compiled", None)
    output = output_of(MEASURED[kind])
    assert skip_reason(output) == ""
    found = recorded(output)["0"]
    assert found.skip_reason == ""
    assert found.output_shape == output.shape
    assert_figures(found.statistics, output.detach().double())


NOT_MEASURED: dict[str, Callable[[Tensor], Any]] = {
    "complex64": lambda x: torch.complex(x, x),
    "complex128": lambda x: torch.complex(x, x).to(torch.complex128).conj(),
    "sparse_coo": lambda x: x[0].to_sparse(),
    "sparse_csr": lambda x: x[0].to_sparse_csr(),
    "mkldnn": Tensor.to_mkldnn,
    "qint8": lambda x: torch.quantize_per_tensor(x, 0.1, 3, torch.qint8),
    "nested": lambda x: torch.nested.nested_tensor([x[0], x[0, :2]]),
    "bits8": lambda _: torch.zeros(1, 4, 6, dtype=torch.uint8).view(torch.bits8),
}


@pytest.mark.parametrize("kind", NOT_MEASURED)
def test_other_outputs_have_a_reason(kind: str) -> None:
    output = output_of(NOT_MEASURED[kind])
    assert skip_reason(output) == kind
    found = recorded(output)
    assert found["0"].skip_reason == found["1"].skip_reason == kind
    assert found["0"].statistics.mean is None
    assert found["0"].token_norms is None
    assert found["0"].output_shape == (() if kind == "nested" else output.shape)
    assert found["0"].macs == 0
    assert not found["2"].skip_reason
    with pytest.raises((TypeError, RuntimeError)):
        measure(output)


@pytest.mark.parametrize("output", [None, "text", (), {"a": None}, X.to("meta")])
def test_outputs_without_a_tensor_are_not_listed(output: Any) -> None:
    assert set(recorded(output)) == {"2", ""}


def test_a_model_with_a_complex_output() -> None:
    """Llama 4 rotates its queries and keys by complex numbers, which a module returns."""
    sizes = {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 40}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    experts = {"num_local_experts": 2, "intermediate_size_mlp": 40, "num_experts_per_tok": 1}
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    values: dict[str, Any] = {**sizes, **heads, **experts, **ids}
    it = opened("llama4_text", **values)
    document = json.loads(json.dumps(it.run.to_json(), allow_nan=False))
    (rotary,) = (one for one in document["modules"] if one["mean"] is None)
    assert (rotary["path"], rotary["not_measured"]) == ("rotary_emb", "complex64")
    assert rotary["nan_count"] is rotary["zero_fraction"] is None
    (line,) = (line for line in run_text(it.run).splitlines() if line.startswith("rotary_emb"))
    assert line.endswith("–  complex64")
    assert check_run(it.model, it.everything).steps
    with pytest.raises(UserError, match=r"^not measured: complex64$"):
        histogram_of(it, "rotary_emb")
    assert call_statistics(it, ("rotary_emb",)) == {}
