"""Deriving formulas within limits: what is left out has a reason, the rest is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.loading import deriving, loaded_model
from bertviewer.core.loading.cached_models import NO_CACHE
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.budget import Budget, limited
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress
from tests.core.loading.tiny_models import SIZES

BERT = {
    "model_type": "bert",
    **SIZES["bert"],
    "num_hidden_layers": 2,
    "max_position_embeddings": 40,
}


def opened(folder: Path, config: dict[str, Any] = BERT) -> LoadedModel:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return open_model(parse_source(str(path)))


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_CACHE, "1")


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(seconds=0.0), "the time limit of 0 s was reached"),
        (Budget(memory=-(10**10)), "the memory limit of -10.0 GB was reached"),
    ],
)
def test_formulas_over_budget_are_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: Budget, reason: str
) -> None:
    stored: list[Any] = []
    monkeypatch.setattr(loaded_model, "store_spec", lambda *args: stored.append(args))
    monkeypatch.setattr(loaded_model, "Budget", lambda: budget)
    model = opened(tmp_path)
    stored.clear()
    found = model.with_formulas()
    assert found.source.notices == (f"Parameter counts have no formulas: {reason}.",)
    assert found.root.count_formula == str(found.root.parameters)
    assert found.costs is not None
    assert found.costs.reason == reason
    assert found.flows is not None
    assert reason in found.flows.reason_for("")
    assert not stored  # the next start tries again


def test_counts_and_costs_are_kept_if_tracing_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.core.graph.tracing.MAX_OPERATIONS", 30)
    found = opened(tmp_path).with_formulas()
    assert "D" in found.root.count_formula
    assert found.costs is not None
    assert found.costs.modules[""].macs
    assert found.flows is not None
    assert "takes more than 30 steps" in found.flows.reason_for("")
    assert found.flows.flow("embeddings") is not None
    assert found.source.notices == ()


@pytest.mark.parametrize(
    ("step", "error", "notice"),
    [
        ("derive", MemoryError, "Parameter counts have no formulas"),
        ("derive_symbolic_shapes", RecursionError, "Shapes in the data flow have no symbols"),
    ],
)
def test_an_error_in_one_step_is_a_notice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    error: type[Exception],
    notice: str,
) -> None:
    def fail(*_args: Any) -> None:
        raise error

    monkeypatch.setattr(deriving, step, fail)
    found = opened(tmp_path).with_formulas()
    assert [text.partition(":")[0] for text in found.source.notices] == [notice]
    assert found.flows is not None
    assert found.flows.flow("encoder.layer.0") is not None


def test_earlier_flows_are_kept_if_there_is_no_time_for_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(tmp_path)
    first = model.with_flows().flows
    monkeypatch.setattr(model, "_budget", Budget(seconds=0.0))
    assert model.with_formulas().flows is first


def test_building_a_model_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bertviewer.core.loading.meta_model.limited", lambda progress: limited(progress, 0.2)
    )
    # Its constructor loops over all pairs of pixels.
    config = {"model_type": "levit", "image_size": 20_000}
    with pytest.raises(UserError, match=r"cannot be built: the time limit of 0\.2 s was reached"):
        opened(tmp_path, config)


def test_large_images_take_no_memory(tmp_path: Path) -> None:
    vit = {
        "model_type": "vit",
        "image_size": 40_000,
        "patch_size": 10_000,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 24,
    }
    model = opened(tmp_path, vit)
    budget = Budget(memory=300_000_000)
    budget.measure_memory()
    found = deriving.with_flows(model.architecture, model.source, no_progress, budget)
    assert not budget.was_exceeded
    assert found.flows is not None
    assert found.flows.missing == {}
    assert found.flows.flow("") is not None


def test_memory_that_is_not_written_to_is_not_counted(tmp_path: Path) -> None:
    # XLNet calls torch.FloatTensor, which ignores the meta device: 16 GB in a variant.
    model = opened(tmp_path, {"model_type": "xlnet", "n_layer": 3})
    found = model.with_counts()
    assert found.source.notices == ()
    assert found.root.count_formula == "V*D + D + N*(5*D**2 + 2*D*d_inner + 10*D + d_inner)"
