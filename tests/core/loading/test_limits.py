"""Deriving within limits: what is left out says why, and the rest is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.loading import cached_models as models
from bertviewer.core.loading import deriving, loaded_model
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.budget import Budget, limited
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress

BERT = {
    "model_type": "bert",
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}


def _opened(folder: Path, config: dict[str, Any] = BERT) -> LoadedModel:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return open_model(parse_source(str(path)))


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(models.NO_CACHE, "1")


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(seconds=0.0), "the time limit of 0 s was reached"),
        (Budget(memory=-(10**10)), "the memory limit of -10.0 GB was reached"),
    ],
)
def test_what_does_not_fit_the_budget_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: Budget, reason: str
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(loaded_model, "store_spec", lambda *args: kept.append(args))
    monkeypatch.setattr(loaded_model, "Budget", lambda: budget)
    model = _opened(tmp_path)
    kept.clear()
    found = model.with_formulas()
    assert found.source.notices == (f"Parameter counts have no formulas: {reason}.",)
    assert found.root.count_formula == str(found.root.parameters)
    assert found.costs is not None
    assert found.costs.reason == reason
    assert found.flows is not None
    assert reason in found.flows.reason_for("")
    assert not kept


def test_counts_and_costs_stay_where_the_trace_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.core.graph.tracing.MAX_OPERATIONS", 30)
    found = _opened(tmp_path).with_formulas()
    assert "D" in found.root.count_formula
    assert found.costs is not None
    assert found.costs.modules[""].macs
    assert found.flows is not None
    assert "takes more than 30 steps" in found.flows.reason_for("")
    assert found.flows.flow("embeddings") is not None
    assert found.source.notices == ()


@pytest.mark.parametrize(
    ("part", "error", "words"),
    [
        ("derive", MemoryError, "Parameter counts have no formulas"),
        ("derive_symbolic_shapes", RecursionError, "Shapes in the data flow have no symbols"),
    ],
)
def test_an_error_in_one_part_is_a_notice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    error: type[Exception],
    words: str,
) -> None:
    def fail(*_args: Any) -> None:
        raise error

    monkeypatch.setattr(deriving, part, fail)
    found = _opened(tmp_path).with_formulas()
    assert [notice.partition(":")[0] for notice in found.source.notices] == [words]
    assert found.flows is not None
    assert found.flows.flow("encoder.layer.0") is not None


def test_flows_that_were_found_stay_if_there_is_no_time_for_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _opened(tmp_path)
    first = model.with_flows().flows
    monkeypatch.setattr(model, "_budget", Budget(seconds=0.0))
    assert model.with_formulas().flows is first


def test_building_a_model_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bertviewer.core.loading.meta_model.limited", lambda progress: limited(progress, 0.2)
    )
    # Its constructor goes through all pairs of pixels.
    config = {"model_type": "levit", "image_size": 20_000}
    with pytest.raises(UserError, match=r"cannot be built: the time limit of 0\.2 s was reached"):
        _opened(tmp_path, config)


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
    model = _opened(tmp_path, vit)
    budget = Budget(memory=300_000_000)
    budget.measure_memory()
    found = deriving.with_flows(model.architecture, model.source, no_progress, budget)
    assert not budget.was_exceeded
    assert found.flows is not None
    assert found.flows.missing == {}
    assert found.flows.flow("") is not None


def test_uninitialized_memory_of_a_variant_is_not_counted(tmp_path: Path) -> None:
    # XLNet allocates with torch.FloatTensor, on the CPU whatever the device is: 16 GB in a variant.
    model = _opened(tmp_path, {"model_type": "xlnet", "n_layer": 3})
    found = model.with_counts()
    assert found.source.notices == ()
    assert found.root.count_formula == "V*D + D + N*(5*D**2 + 2*D*d_inner + 10*D + d_inner)"
