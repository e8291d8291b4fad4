"""Replayed calls are bit-identical to those of the run."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.analysis.layers import unit_of
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.checks.small_models import FAMILIES, SENTENCE, heads, hook_count, small_model
from tests.core.runs.replaying import assert_same, calls_of, taken_by, watched


def assert_replayed(model: LoadedModel) -> None:
    """Replay what lies in units, and what lies above them, and compare every call."""
    kept, everything = watched(model)
    paths = [node.path for node in model.architecture.modules]
    inside = [path for path in paths if unit_of(path, tuple(kept.calls)) is not None]
    above = [path for path in paths if path not in inside]
    assert "" in above
    for chosen in (inside, above):
        found = replay(model, kept, chosen)
        assert set(found.calls) == set(everything.calls).intersection(chosen)
        for path in chosen:
            assert_same(found, everything, path)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_modules_of_a_family(family: str) -> None:
    assert_replayed(small_model(family))


@pytest.mark.parametrize(
    ("family", "task"),
    [
        *(head for head in heads() if head[0] == "bert"),
        ("gpt2", "sequence-classification"),
        ("distilbert", "question-answering"),
        ("albert", "pretraining"),
        ("bart", "masked-lm"),
        ("t5", "pretraining"),
    ],
)
def test_all_modules_of_a_model_with_a_head(family: str, task: str) -> None:
    assert_replayed(small_model(family, task))


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("albert", {"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}),
        ("t5", {"num_layers": 4}),
        ("bert", {"is_decoder": True}),
        ("bert", {"num_hidden_layers": 1}),
    ],
)
def test_all_modules_under_other_configurations(family: str, changes: dict[str, Any]) -> None:
    assert_replayed(small_model(family, **changes))


def test_each_call_of_a_shared_layer_is_made_again() -> None:
    model = small_model("albert", num_hidden_layers=3)
    kept, everything = watched(model)
    path = "encoder.albert_layer_groups.0.albert_layers.0.attention"
    found = replay(model, kept, [path])
    assert len(found.calls[path]) == 3
    assert_same(found, everything, path)


def outermost_calls(model: LoadedModel, kept: ActivationCache, *paths: str) -> list[str]:
    """Replay ``paths``; return what was called, without what that called itself."""
    return [
        path for path, depth in calls_of(model, lambda: replay(model, kept, paths)) if not depth
    ]


@pytest.mark.parametrize(
    ("task", "paths", "expected"),
    [
        ("base", ["encoder.layer.1"], ["encoder.layer.1"]),
        (
            "base",
            ["encoder.layer.1.output.dense", "encoder.layer.1.attention.self"],
            ["encoder.layer.1"],
        ),
        (
            "base",
            ["embeddings.LayerNorm", "encoder.layer.0.output"],
            ["embeddings", "encoder.layer.0"],
        ),
        ("base", ["pooler.dense"], ["pooler"]),
        ("base", ["encoder.layer.0", "encoder"], [""]),
        ("base", [""], [""]),
        ("base", [], []),
        ("masked-lm", ["cls.predictions.decoder"], ["cls"]),
        ("sequence-classification", ["classifier"], ["classifier"]),
    ],
)
def test_no_more_is_called_than_has_to_be(task: str, paths: list[str], expected: list[str]) -> None:
    model = small_model("bert", task)
    kept, _ = watched(model)
    assert outermost_calls(model, kept, *paths) == expected


LAYER = "encoder.layer.1"


def test_an_argument_that_was_changed_since_makes_it_run_the_whole_model() -> None:
    model = small_model("bert")
    kept, everything = watched(model)
    expected = everything.calls[f"{LAYER}.output"][0].output.clone()
    with torch.no_grad():
        kept.calls[LAYER][0].args[0].add_(1)
    found = replay(model, kept, [f"{LAYER}.output"])
    assert torch.equal(found.calls[f"{LAYER}.output"][0].output, expected)
    assert outermost_calls(model, kept, f"{LAYER}.output") == [""]
    # The other layers are as they were.
    assert outermost_calls(model, kept, "encoder.layer.0") == ["encoder.layer.0"]


def test_a_layer_that_changes_its_argument_is_not_called_again_alone() -> None:
    model = small_model("bert")

    def spoil(_module: nn.Module, args: tuple[Tensor, ...]) -> None:
        args[0].mul_(2)

    attention = model.module(random_weights=True).get_submodule(f"{LAYER}.attention")
    attention.register_forward_pre_hook(spoil)
    kept, everything = watched(model)
    assert outermost_calls(model, kept, LAYER) == [""]
    found = replay(model, kept, [f"{LAYER}.output"])
    assert_same(found, everything, f"{LAYER}.output")


def test_what_did_not_fit_is_found_by_the_whole_model() -> None:
    model = small_model("albert", num_hidden_groups=2, num_hidden_layers=4)
    whole, everything = watched(model)
    kept = ActivationCache("units", budget=whole.bytes - 1)
    run_sentence(model, SENTENCE, random_weights=True, cache=kept)
    (refused,) = kept.refused
    found = replay(model, kept, [refused])
    assert len(found.calls[refused]) == len(everything.calls[refused])
    assert outermost_calls(model, kept, refused) == [""]


def test_a_capture_of_everything_is_replayed_too() -> None:
    model = small_model("bert")
    _, everything = watched(model)
    kept = ActivationCache()
    run_sentence(model, SENTENCE, random_weights=True, cache=kept)
    found = replay(model, kept, [LAYER])
    assert_same(found, everything, LAYER)


def test_a_replay_takes_nothing_from_what_was_kept() -> None:
    model = small_model("gpt2")
    kept, everything = watched(model)
    size, calls = kept.bytes, {path: len(calls) for path, calls in kept.calls.items()}
    for _ in range(3):
        found = replay(model, kept, ["h.0.attn", "h.1"])
        assert_same(found, everything, "h.0.attn")
        assert_same(found, everything, "h.1")
    assert kept.bytes == size
    assert {path: len(calls) for path, calls in kept.calls.items()} == calls


def test_a_replay_keeps_no_more_than_its_budget() -> None:
    model = small_model("bert")
    kept, _ = watched(model)
    found = replay(model, kept, [LAYER, f"{LAYER}.attention.self"], budget=100)
    assert found.calls == {}
    assert found.refused == {LAYER, f"{LAYER}.attention.self"}


def test_a_run_before_the_last_one_can_be_replayed() -> None:
    model = small_model("bert")
    kept, everything = watched(model)
    run_sentence(
        model, Sentence("something else"), random_weights=True, cache=ActivationCache("units")
    )
    found = replay(model, kept, [LAYER, ""])
    for path in ("", LAYER):
        assert_same(found, everything, path)


def test_the_model_goes_back_to_the_device_of_the_run() -> None:
    model = small_model("bert")
    kept, everything = watched(model)
    model.module(random_weights=True, device="cpu:0")  # torch tells it from "cpu"
    labels: list[str] = []
    found = replay(model, kept, [LAYER], lambda done, total, label: labels.append(label))
    assert "Moving the weights" in labels
    assert_same(found, everything, LAYER)


@pytest.mark.parametrize("paths", [[LAYER], [""]])
def test_a_replay_that_is_cancelled_leaves_no_hooks(paths: list[str]) -> None:
    model = small_model("bert")
    kept, everything = watched(model)
    hooks = hook_count(model.module(True))

    def stop(done: int, total: int, label: str) -> None:
        assert 0 <= done <= total
        if label == f"{LAYER}.intermediate":
            raise Cancelled

    with pytest.raises(Cancelled):
        replay(model, kept, paths, stop)
    assert hook_count(model.module(True)) == hooks
    found = replay(model, kept, [LAYER])
    assert_same(found, everything, LAYER)
    assert hook_count(model.module(True)) == hooks


@pytest.mark.parametrize(
    ("family", "layer"), [("llama", "transformer.layers.0"), ("mistral", "model.layers.0")]
)
def test_a_head_that_names_no_cache_has_none(family: str, layer: str) -> None:
    # A cache would grow with every replay, and give other keys than the run had.
    model = small_model(family, "question-answering")
    kept, everything = watched(model)
    assert all(call.kwargs.get("past_key_values") is None for call in kept.calls[layer])
    for _ in range(2):
        found = replay(model, kept, [layer])
        for path in found.calls:
            assert_same(found, everything, path)


@pytest.mark.parametrize("family", ["xlm", "flaubert"])
def test_layers_that_fill_a_cache_are_not_called_alone(family: str, tmp_path: Path) -> None:
    # They make one whatever they are told, and each call puts its keys into it.
    values = {"vocab_size": 97, "emb_dim": 24, "n_layers": 2, "n_heads": 3}
    kept, everything = watched(model := opened({"model_type": family, **values}, tmp_path))
    for _ in range(2):
        assert_same(replay(model, kept, ["attentions.1"]), everything, "attentions.1")


def test_layers_whose_forward_is_called_by_name_are_seen(tmp_path: Path) -> None:
    values = {"vocab_size": 97, "hidden_size": 24, "embedding_size": 24, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "intermediate_size": 40}
    model = opened({"model_type": "squeezebert", **values, **heads}, tmp_path)
    kept = ActivationCache("units")
    run = run_sentence(model, SENTENCE, random_weights=True, cache=kept)
    layer = "encoder.layers.1"
    (call,) = replay(model, kept, [layer]).calls[layer]
    output, activation = first_tensor(call.output), run.activation(layer)
    assert output is not None
    assert activation is not None
    assert activation.output_shape == output.shape
    assert activation.statistics.mean == pytest.approx(output.mean().item(), abs=1e-6)


def test_a_part_that_cannot_be_called_again_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model("bert")
    kept, _ = watched(model)

    def fail(*_args: object, **_kwargs: object) -> None:
        raise KeyError("once")

    monkeypatch.setattr(model.module(True).get_submodule(f"{LAYER}.attention"), "forward", fail)
    said = r"replayed: encoder.layer.1.attention \(BertAttention\): KeyError: 'once'"
    with pytest.raises(UserError, match=said):
        replay(model, kept, [LAYER])
    with pytest.raises(UserError, match=said):
        taken_by(model, kept, f"{LAYER}.output")


def opened(config: dict[str, Any], folder: Path) -> LoadedModel:
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return open_model(parse_source(str(path)))
