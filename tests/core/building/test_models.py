"""Models that transformers builds from configurations, and those that it refuses."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bertviewer.core.building.backend import seeded
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import auto_class, build_on_meta, build_random, task_names
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import TASKS, find_task
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError

BASE = find_task("base")
TINY: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": 50,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}


@pytest.mark.parametrize(
    "config",
    [
        {
            **{"model_type": "albert", "num_hidden_groups": 20, "inner_group_num": 20},
            **{"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 20},
        },
        {"model_type": "resnet", "depths": [900, 1, 1, 1]},
    ],
    ids=lambda config: str(config["model_type"]),
)
def test_too_many_modules(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviewer.core.building.models.MAX_MODULES", 1000)
    with pytest.raises(UserError, match="more than 1,000 modules, too many to show"):
        build_on_meta(build_config(config, "it"), BASE, "it")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "no-such-family"}, "model_type 'no-such-family' is unknown"),
        ({"hidden_act": "nope"}, "hidden_act 'nope' is unknown"),
        ({"num_attention_heads": 3}, "not a multiple of the number of attention heads"),
        ({"hidden_dropout_prob": "much"}, "hidden_dropout_prob"),
        ({"model_type": "llama", "rope_scaling": {"type": "no"}}, "type 'no' is unknown"),
        ({"model_type": "t5", "d_kv": 0}, "d_kv is 0, not a positive integer"),
        ({"model_type": "llama", "head_dim": 0}, "head_dim is 0, not a positive integer"),
        (
            {"model_type": "lfm2_moe"},
            "transformers cannot build this configuration: TypeError: 'NoneType' object is not",
        ),
        (
            {"model_type": "musicgen"},
            "cannot build this configuration: AttributeError: 'MusicgenConfig' object has no",
        ),
        (
            {"model_type": "llama", "per_layer_config": {"0": {"num_key_value_heads": 1}}},
            "'num_key_value_heads' is a per-layer attribute and may vary across layers.",
        ),
        # Its class refuses to return an attribute that differs between layers.
        (
            {"model_type": "diffusion_gemma_text", "per_layer_config": {"0": {"head_dim": 8}}},
            "no model class that can be opened",
        ),
    ],
)
def test_a_refused_configuration_has_a_message_of_one_line(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY | change))
    with pytest.raises(UserError, match=message) as raised:
        open_model(parse_source(str(path)))
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_weights_that_cannot_be_drawn() -> None:
    # On the meta device nothing is drawn, so such a model can be opened.
    config = build_config(TINY | {"initializer_range": -1.0}, "tiny")
    with pytest.raises(UserError, match=r"^tiny: no random weights can be drawn: n"):
        build_random(config, BASE, "tiny")


def test_random_weights_depend_on_the_seed_alone() -> None:
    config = build_config(TINY, "tiny")
    torch.manual_seed(123)
    expected = torch.rand(3)
    torch.manual_seed(123)
    first = build_random(config, BASE, "tiny").state_dict()
    assert torch.equal(torch.rand(3), expected)
    second = build_random(config, BASE, "tiny").state_dict()
    other = build_random(config, BASE, "tiny", seed=1).state_dict()
    name = "encoder.layer.0.attention.self.query.weight"
    assert torch.equal(first[name], second[name])
    assert not torch.equal(first[name], other[name])


def test_random_weights_in_several_threads() -> None:
    config = build_config(TINY | {"num_hidden_layers": 8}, "tiny")

    def drawn() -> list[float]:
        return [float(p.detach().sum()) for p in build_random(config, BASE, "it").parameters()]

    alone, found = drawn(), list[list[float]]()
    threads = [threading.Thread(target=lambda: found.append(drawn())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_seeded_restores_the_random_state() -> None:
    torch.manual_seed(3)
    first = torch.rand(2)
    torch.manual_seed(3)
    with seeded(0):
        inside = torch.rand(1)
        with seeded():
            torch.rand(5)
    assert torch.equal(torch.rand(2), first)
    with seeded(0):
        assert torch.equal(torch.rand(1), inside)


def test_tasks_of_a_family() -> None:
    assert set(task_names(transformers.BertConfig())) == {task.name for task in TASKS}
    gpt2 = task_names(transformers.GPT2Config())
    assert "pretraining" in gpt2
    assert "masked-lm" not in gpt2
    assert task_names(build_config({"model_type": "transformer-base"}, "x")) == ("base",)


@pytest.mark.parametrize(
    ("family", "task", "available"),
    [
        (
            "gpt2",
            "masked-lm",
            "heads for: causal-lm, sequence-classification, pretraining, "
            "token-classification, question-answering",
        ),
        (
            "roberta",
            "next-sentence",
            "heads for: masked-lm, causal-lm, sequence-classification, pretraining, "
            "token-classification, question-answering",
        ),
        ("vit", "masked-lm", "no task heads"),
    ],
)
def test_a_missing_head_is_reported_with_the_available_ones(
    family: str, task: str, available: str
) -> None:
    with pytest.raises(UserError) as raised:
        auto_class(transformers.AutoConfig.for_model(family), find_task(task), "mine")
    message = f"mine: {family} has no head for the task {task!r}; it has {available}"
    assert str(raised.value) == message


STATES = {
    "mamba2": {"num_heads": 4, "head_dim": 4, "hidden_size": 8, "state_size": 4, "n_groups": 1},
    "bamba": {
        **{"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2},
        **{"num_key_value_heads": 1, "mamba_n_heads": 8, "mamba_d_head": 4, "mamba_d_state": 4},
    },
}


@pytest.mark.parametrize("family", STATES)
def test_an_infinity_is_read_and_written_as_valid_json(family: str, tmp_path: Path) -> None:
    """transformers before version 5 wrote Infinity as a limit of Mamba-2's time steps."""
    sizes = {"vocab_size": 30, "num_hidden_layers": 1, **STATES[family]}
    config = {"model_type": family, "time_step_limit": [0.0, float("inf")], **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert "Infinity]" in (tmp_path / "config.json").read_text()
    for _ in range(2):  # built, and then cached
        model = open_model(parse_source(str(tmp_path)))
        assert model.architecture.config["time_step_limit"] == [0.0, float("inf")]
        written = json.dumps(model.architecture.to_json(), allow_nan=False)
        assert '[0.0, {"__float__": "Infinity"}]' in written
        assert Architecture.from_json(json.loads(written)) == model.architecture
