"""A model that was seen before is known again, and one that has changed is not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace
from safetensors.torch import load_file, save_file

from bertviewer.core.building import versions
from bertviewer.core.loading import cached_models as models
from bertviewer.core.loading.cached_models import NO_CACHE
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util import libraries
from bertviewer.core.util.errors import UserError
from tests.core.cache.cached import files, opened

pytestmark = pytest.mark.usefixtures("cache")


def test_the_second_time_nothing_is_built(folder: Path, building: list[str]) -> None:
    first = opened(folder)
    assert building == [str(folder)]
    second = opened(folder)
    assert building == [str(folder)]
    assert second.architecture == first.architecture
    assert second.load_report == first.load_report
    assert second.tasks == first.tasks
    assert "masked-lm" in second.tasks


def test_without_the_cache_all_is_built_anew_and_nothing_kept(
    folder: Path, cache: Path, building: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_CACHE, "1")
    opened(folder).with_formulas()
    assert not files(cache)
    monkeypatch.delenv(NO_CACHE)
    opened(folder).with_formulas()
    assert files(cache)
    built = len(building)
    monkeypatch.setenv(NO_CACHE, "1")
    opened(folder)
    assert len(building) > built


def test_formulas_are_there_once_they_were_derived(folder: Path, cache: Path) -> None:
    first = opened(folder).with_formulas()
    assert first.costs is not None
    assert opened(folder).architecture == first
    assert len(files(cache)) == len(files(cache, "key-reports")) == 1


def test_what_is_seen_again_works_like_the_first(folder: Path, building: list[str]) -> None:
    first, second = opened(folder), opened(folder)
    for model in (first, second):
        model.ensure_built()
    assert len(building) == 2
    ours, theirs = (m.module(random_weights=False).state_dict() for m in (first, second))
    assert all(bool((ours[name] == theirs[name]).all()) for name in ours)
    assert second.stored("pooler.dense.bias") == first.stored("pooler.dense.bias")


@pytest.mark.parametrize(
    "changes",
    [{"num_hidden_layers": 3}, {"hidden_act": "relu"}, {"id2label": {"0": "a"}}, {"own": [1]}],
)
def test_a_changed_configuration_is_another_model(
    folder: Path, changes: dict[str, Any], building: list[str]
) -> None:
    file = folder / "config.json"
    config = opened(file).architecture.whole_config
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    again = opened(file).architecture.whole_config
    assert building == [str(file)] * 2
    assert again != config


def test_another_head_is_another_model(folder: Path, building: list[str]) -> None:
    assert opened(folder, "masked-lm").architecture != opened(folder).architecture
    assert len(building) == 2


@pytest.mark.parametrize("change", ["renamed", "dropped", "added", "reshaped", "retyped"])
def test_a_changed_checkpoint_is_looked_at_again(
    folder: Path, change: str, building: list[str]
) -> None:
    opened(folder)
    file = folder / "model.safetensors"
    tensors = load_file(file)
    if change == "renamed":
        tensors = {f"bert.{name}": value for name, value in tensors.items()}
    elif change == "dropped":
        del tensors["pooler.dense.bias"]
    elif change == "added":
        tensors["more.weight"] = torch.ones(3)
    elif change == "reshaped":
        tensors["pooler.dense.bias"] = torch.ones(17)
    else:
        tensors["pooler.dense.bias"] = tensors["pooler.dense.bias"].half()
    save_file(tensors, file, {"format": "pt"})
    if change == "reshaped":
        with pytest.raises(UserError, match=r"has the shape \[17\]"):
            opened(folder)
        return
    model = opened(folder)
    assert len(building) == 2
    assert model.load_report is not None
    assert bool(model.load_report.renamed) == (change == "renamed")
    assert model.architecture.source.random_tensors == model.load_report.missing
    assert bool(model.load_report.missing) == (change == "dropped")
    assert bool(model.load_report.unexpected) == (change == "added")
    assert len(model.load_report.stored_dtypes) == 1 + (change == "retyped")


def test_values_that_changed_are_no_other_model(folder: Path, building: list[str]) -> None:
    opened(folder)
    file = folder / "model.safetensors"
    save_file({k: v + 1 for k, v in load_file(file).items()}, file, {"format": "pt"})
    assert opened(folder).load_report is not None
    assert len(building) == 1


def test_two_checkpoints_of_one_configuration_share_its_formulas(
    folder: Path, tmp_path: Path, cache: Path, derived: Architecture
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_bytes((folder / "config.json").read_bytes())
    tensors = load_file(folder / "model.safetensors")
    save_file({f"bert.{k}": v for k, v in tensors.items()}, other / "model.safetensors")
    architecture = opened(other).architecture
    assert architecture.costs == derived.costs
    assert architecture.source.name == str(other)
    assert len(files(cache)) == 1
    assert len(files(cache, "key-reports")) == 2


@pytest.mark.parametrize("package", ["torch", "transformers", "bertviewer"])
def test_another_version_is_built_anew(
    folder: Path, package: str, building: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(folder)
    other = {**versions.versions(), package: "another"}
    monkeypatch.setattr(models, "versions", lambda: other)
    opened(folder)
    assert len(building) == 2


@pytest.mark.parametrize("is_file", [True, False])
def test_without_room_for_a_cache_models_are_opened_all_the_same(
    folder: Path, cache: Path, is_file: bool, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_file:
        cache.write_text("a file stands where the folder would be")
    else:

        def full(*_: object) -> None:
            raise UserError("cannot write: No space left on device")

        monkeypatch.setattr("bertviewer.core.saving.disk_cache.write_atomically", full)
    first = opened(folder)
    assert opened(folder).architecture == first.architecture
    assert any("not cached" in note for note in notes)


def test_nothing_is_kept_of_what_cannot_be_opened(folder: Path, cache: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "bert", "hidden_act": "none such"}')
    for _ in range(2):
        with pytest.raises(UserError, match="hidden_act 'none such' is unknown"):
            opened(folder)
    assert not cache.exists()


def test_torch_is_asked_for_once_a_model_is_new(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(libraries, "load", asked.append)
    opened(folder)
    assert len(asked) == 1
    opened(folder)
    assert len(asked) == 1


def test_what_loading_finds_out_is_not_taken_for_what_the_names_say(
    folder: Path, building: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bertviewer.core.loading import weight_loading as weighting

    load = weighting.pretrained_module

    def and_one_is_missing(*arguments: Any) -> Any:
        return replace(load(*arguments), random=("pooler.dense.bias",))

    monkeypatch.setattr(weighting, "pretrained_module", and_one_is_missing)
    model = opened(folder)
    model.module(random_weights=False)
    assert model.load_report is not None
    assert "pooler.dense.bias" in model.load_report.missing
    model.with_formulas()
    again = opened(folder)
    assert again.load_report is not None
    assert "pooler.dense.bias" not in again.load_report.missing
    again.ensure_built()
    assert not again.was_corrected


def test_a_sentence_is_run_alike_before_and_after(tmp_path: Path) -> None:
    """What a class takes is asked of it; one that was seen before may not be imported yet."""
    code = """
import sys
from bertviewer.core.util.errors import UserError
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.sources.parsing import parse_source
for file, task in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        model = open_model(parse_source(file, task))
        run = run_sentence(model, Sentence("hello world"), random_weights=True)
        print([token.id for token in run.tokens])
    except UserError as error:
        print(error)
"""
    (tmp_path / "umt5.json").write_text(
        json.dumps(
            {"model_type": "umt5", "vocab_size": 300, "d_model": 16, "d_kv": 8, "d_ff": 16,
             "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
        )
    )  # fmt: skip
    (tmp_path / "vit.json").write_text(
        json.dumps(
            {"model_type": "vit", "hidden_size": 16, "num_hidden_layers": 1,
             "num_attention_heads": 2, "intermediate_size": 16}
        )
    )  # fmt: skip
    command = [sys.executable, "-c", code, "umt5.json", "token-classification", "vit.json", "base"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    first, second = (
        subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
        ).stdout
        for _ in range(2)
    )
    assert first == second
    of_umt5, of_vit = first.splitlines()
    assert of_umt5.startswith("[")
    assert "does not read text" in of_vit
