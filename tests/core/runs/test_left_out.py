"""Outputs that cannot be measured have a reason, and do not end a run."""

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.checks.check import check_run
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.outputs import call_statistics, histogram_of
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.macs import RunCounter
from bertviewer.core.runs.measuring import measure, skip_reason
from bertviewer.core.runs.recording import Recorder
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.statistics import row_statistics
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress
from bertviewer.report.run_text import run_text
from tests.core.checks.small_models import SENTENCE, small_model
from tests.core.formulas.formula_models import TINY
from tests.core.runs.plain_figures import assert_figures

X = torch.randn(1, 4, 6, generator=torch.Generator().manual_seed(0))


class Giving(nn.Module):
    """Gives what it is told to, whatever it takes."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output

    def forward(self, _x: Any) -> Any:
        return self.output


def given(output: Any) -> dict[str, ModuleActivation]:
    """Let modules give and take it, as everything that runs in the window is kept."""
    model = nn.Sequential(Giving(output), nn.Identity(), Giving(X))
    recorder = Recorder(model, no_progress)
    counter = RunCounter(model)
    capture = ActivationCache()
    watched = capture.recording(dict(model.named_modules()))
    with torch.no_grad(), recorder.recording(), watched, counter.counting():
        model(X)
    assert recorder.producers(X) == ["2", ""]
    assert set(capture.calls) == {"", "0", "1", "2"}
    found = {activation.path: activation for activation in recorder.activations(counter.macs())}
    assert found["2"].token_norms is not None
    return found


def made(make: Callable[[Tensor], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls some of these a prototype
        return make(X)


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


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("kind", MEASURED)
def test_numbers_of_any_kind_are_measured(
    kind: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(row_statistics, "compiled", None)
    output = made(MEASURED[kind])
    assert skip_reason(output) == ""
    found = given(output)["0"]
    assert found.skip_reason == ""
    assert found.output_shape == output.shape
    assert_figures(found.statistics, output.detach().double())


LEFT_OUT: dict[str, Callable[[Tensor], Any]] = {
    "complex64": lambda x: torch.complex(x, x),
    "complex128": lambda x: torch.complex(x, x).to(torch.complex128).conj(),
    "sparse_coo": lambda x: x[0].to_sparse(),
    "sparse_csr": lambda x: x[0].to_sparse_csr(),
    "mkldnn": Tensor.to_mkldnn,
    "qint8": lambda x: torch.quantize_per_tensor(x, 0.1, 3, torch.qint8),
    "nested": lambda x: torch.nested.nested_tensor([x[0], x[0, :2]]),
    "bits8": lambda _: torch.zeros(1, 4, 6, dtype=torch.uint8).view(torch.bits8),
}


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_what_is_left_out_is_named(kind: str) -> None:
    output = made(LEFT_OUT[kind])
    assert skip_reason(output) == kind
    found = given(output)
    assert found["0"].skip_reason == found["1"].skip_reason == kind
    assert found["0"].statistics.mean is None
    assert found["0"].token_norms is None
    assert found["0"].output_shape == (() if kind == "nested" else output.shape)
    assert found["0"].macs == 0
    assert not found["2"].skip_reason
    with pytest.raises((TypeError, RuntimeError)):
        measure(output)


@pytest.mark.parametrize("output", [None, "text", (), {"a": None}, X.to("meta")])
def test_what_is_no_tensor_is_not_listed(output: Any) -> None:
    assert set(given(output)) == {"2", ""}


def test_an_error_of_torchs_own_is_not_taken_for_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_tensor: Tensor) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("bertviewer.core.runs.recording.start_measuring", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        given(X)


LLAMA4 = {
    **TINY["llama"],
    "head_dim": 8,
    "num_local_experts": 2,
    "intermediate_size_mlp": 40,
    "num_experts_per_tok": 1,
    "pad_token_id": 0,
}


def test_a_model_with_complex_rotations(monkeypatch: pytest.MonkeyPatch) -> None:
    # Llama 4 turns its queries and keys by complex numbers that a module gives.
    monkeypatch.setitem(TINY, "llama4_text", LLAMA4)
    model = small_model("llama4_text")
    everything = ActivationCache()
    run = run_sentence(model, SENTENCE, random_weights=True, cache=everything)
    document = json.loads(json.dumps(run.to_json(), allow_nan=False))
    named = {one["path"]: one for one in document["modules"] if one["not_measured"]}
    assert set(named) == {"rotary_emb"}
    (rotary,) = named.values()
    assert rotary["not_measured"] == "complex64"
    assert rotary["mean"] is rotary["nan_count"] is rotary["zero_fraction"] is None
    assert all(one["mean"] is not None for one in document["modules"] if one is not rotary)
    (line,) = (line for line in run_text(run).splitlines() if line.startswith("rotary_emb"))
    assert line.endswith("–  complex64")
    assert check_run(model, everything).steps
    kept = ActivationCache("units")
    run = run_sentence(model, SENTENCE, random_weights=True, cache=kept)
    with pytest.raises(UserError, match=r"^not measured: complex64$"):
        histogram_of(CachedRun(model, run, kept), "rotary_emb")
    assert call_statistics(CachedRun(model, run, kept), ("rotary_emb",)) == {}
