"""A model that was seen before is known again; nothing is believed that does not prove itself."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.cache import models, versions
from bertviewer.core.cache.models import NO_CACHE, SeenModel, model_content
from bertviewer.core.cache.store import SUFFIX, Store
from bertviewer.core.errors import UserError
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.source.parsing import parse_source
from bertviewer.core.system import libraries

SIZES = {
    "model_type": "bert",
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(models, "user_cache_path", lambda *_args, **_kwargs: folder)
    return folder


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what goes to the log."""
    found: list[str] = []
    monkeypatch.setattr(models, "write_log", found.append)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a BERT of two layers with weights."""
    from bertviewer.core.backend import transformers

    place = tmp_path / "model"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        transformers.BertModel(transformers.BertConfig(**SIZES)).save_pretrained(place)
    return place


@pytest.fixture
def building(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of what is built with torch, as it happens."""
    from bertviewer.core.loading import meta_model

    built: list[str] = []
    read = meta_model.read_meta_model

    def note(source: Any, *rest: Any) -> Any:
        built.append(source.name)
        return read(source, *rest)

    monkeypatch.setattr(meta_model, "read_meta_model", note)
    return built


def opened(path: Path, task: str = "base") -> LoadedModel:
    return open_model(parse_source(str(path), task))


def files(cache: Path, kind: str = "architectures") -> list[Path]:
    return sorted((cache / kind).glob(f"*{SUFFIX}"))


def change(cache: Path, kind: str, **changes: Any) -> None:
    """Change what a file says, and sign it anew as somebody could."""
    (file,) = files(cache, kind)
    store, name = Store(file.parent, models.MOST_BYTES), file.name.removesuffix(SUFFIX)
    content = store.read(name, name)
    assert content is not None
    store.write(name, name, content | changes)


def test_the_second_time_nothing_is_built(folder: Path, building: list[str]) -> None:
    first = opened(folder)
    assert building == [str(folder)]
    second = opened(folder)
    assert building == [str(folder)]
    assert second.architecture == first.architecture
    assert second.keys == first.keys
    assert second.heads == first.heads
    assert "masked-lm" in second.heads


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
        model.confirm()
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
    config = opened(file).architecture.config
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    again = opened(file).architecture.config
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
    assert model.keys is not None
    assert bool(model.keys.renamed) == (change == "renamed")
    assert model.architecture.source.random_tensors == model.keys.missing
    assert bool(model.keys.missing) == (change == "dropped")
    assert bool(model.keys.unexpected) == (change == "added")
    assert len(model.keys.stored_dtypes) == 1 + (change == "retyped")


def test_values_that_changed_are_no_other_model(folder: Path, building: list[str]) -> None:
    opened(folder)
    file = folder / "model.safetensors"
    save_file({k: v + 1 for k, v in load_file(file).items()}, file, {"format": "pt"})
    assert opened(folder).keys is not None
    assert len(building) == 1


def test_two_checkpoints_of_one_configuration_share_its_formulas(
    folder: Path, tmp_path: Path, cache: Path
) -> None:
    derived = opened(folder).with_formulas()
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


@pytest.mark.parametrize("kind", ["architectures", "key-reports"])
@pytest.mark.parametrize("content", [b"", b"\0" * 100])
def test_a_damaged_file_is_thrown_away(
    folder: Path, cache: Path, kind: str, content: bytes, building: list[str]
) -> None:
    first = opened(folder)
    (file,) = files(cache, kind)
    file.write_bytes(content)
    second = opened(folder)
    assert len(building) == 2
    assert second.architecture == first.architecture
    # The one that was made anew is whole.
    assert opened(folder).architecture == first.architecture
    assert len(building) == 2


def test_a_wrong_formula_is_thrown_away(
    folder: Path, cache: Path, building: list[str], notes: list[str]
) -> None:
    right = opened(folder).with_formulas()
    wrong = [replace(node, count_formula="V*D + 1") for node in right.modules[1:]]
    change_architecture(cache, replace(right, modules=(right.modules[0], *wrong)))
    assert opened(folder).with_formulas() == right
    assert len(building) == 2
    assert "thrown away" in notes[0]
    assert "V*D + 1" in notes[0]


def test_a_formula_is_never_run(folder: Path, cache: Path, building: list[str]) -> None:
    right = opened(folder).with_formulas()
    call = "__import__('os').abort()"
    wrong = (replace(right.modules[0], count_formula=call), *right.modules[1:])
    change_architecture(cache, replace(right, modules=wrong))
    assert opened(folder).with_formulas() == right
    assert len(building) == 2


def change_architecture(cache: Path, architecture: Architecture) -> None:
    content = model_content(SeenModel(architecture, ("base",)))
    change(cache, "architectures", **content)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("architectures", {"architecture": {"schema": "another/1"}}),
        ("architectures", {"architecture": None}),
        ("architectures", {"heads": None}),
        ("key-reports", {"stored": {"pooler.dense.bias": "no such key"}}),
        ("key-reports", {"stored": {"pooler.dense.bias": "pooler.dense.weight"}}),
        ("key-reports", {"missing": None}),
        ("key-reports", {"missing": [5]}),
        ("key-reports", {"files": None}),
        ("key-reports", {"renamed": ["x"]}),
        ("key-reports", {"stored_dtypes": {"F32": "x"}}),
        ("key-reports", {"more": 1}),
    ],
)
def test_a_file_that_was_made_up_is_thrown_away(
    folder: Path, cache: Path, kind: str, changes: dict[str, Any], building: list[str]
) -> None:
    first = opened(folder)
    change(cache, kind, **changes)
    second = opened(folder)
    assert len(building) == 2
    assert second.architecture == first.architecture
    assert second.keys == first.keys


def test_what_only_seems_right_is_put_right_when_torch_is_there(
    folder: Path, cache: Path, building: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bertviewer.core.loading import loaded_model

    notes: list[str] = []
    monkeypatch.setattr(loaded_model, "write_log", notes.append)
    right = opened(folder).with_formulas()
    lie = tuple(replace(node, class_name="Another") for node in right.modules)
    change_architecture(cache, replace(right, modules=lie))
    model = opened(folder)
    assert model.architecture.root.class_name == "Another"
    assert len(building) == 1
    model.confirm()
    assert model.architecture.root.class_name == "BertModel"
    assert "not what was remembered" in notes[0]
    assert model.with_formulas() == right
    assert opened(folder).architecture == right


@pytest.mark.parametrize("is_file", [True, False])
def test_without_room_for_a_cache_models_are_opened_all_the_same(
    folder: Path, cache: Path, is_file: bool, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_file:
        cache.write_text("a file stands where the folder would be")
    else:

        def full(*_: object) -> None:
            raise UserError("cannot write: No space left on device")

        monkeypatch.setattr("bertviewer.core.cache.store.write_atomically", full)
    first = opened(folder)
    assert opened(folder).architecture == first.architecture
    assert any("not kept for the next time" in note for note in notes)


def test_nothing_is_kept_of_what_cannot_be_opened(folder: Path, cache: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "no such type"}')
    for _ in range(2):
        with pytest.raises(UserError, match="is not known to transformers"):
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
        module, _ = load(*arguments)
        return module, ("pooler.dense.bias",)

    monkeypatch.setattr(weighting, "pretrained_module", and_one_is_missing)
    model = opened(folder)
    model.module(random_weights=False)
    assert model.keys is not None
    assert "pooler.dense.bias" in model.keys.missing
    model.with_formulas()
    again = opened(folder)
    assert again.keys is not None
    assert "pooler.dense.bias" not in again.keys.missing
    again.confirm()
    assert not again.was_corrected


def test_a_wrong_key_report_costs_no_formulas(
    folder: Path, cache: Path, building: list[str]
) -> None:
    derived = opened(folder).with_formulas()
    change(cache, "key-reports", unexpected=["made.up"])
    model = opened(folder)
    assert model.keys is not None
    assert "made.up" in model.keys.unexpected
    model.confirm()
    assert model.was_corrected
    assert "made.up" not in model.keys.unexpected
    assert model.architecture == derived


def test_a_sentence_is_run_alike_before_and_after(tmp_path: Path) -> None:
    """What a class takes is asked of it; one that was seen before may not be imported yet."""
    code = """
import sys
from bertviewer.core.errors import UserError
from bertviewer.core.loading.opening import open_model
from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.run.running import run_sentence
from bertviewer.core.source.parsing import parse_source
for file, task in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        run = run_sentence(open_model(parse_source(file, task)), Sentence("hello world"), True)
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


@pytest.mark.parametrize(
    "lie",
    [
        ("", "config", None),
        ("", "modules", []),
        ("", "symbols", {"D": {"key": None, "value": 16, "meaning": ""}}),
        ("", "config", {"model_type": "gpt2"}),
        ("modules", "class", None),
        ("modules", "share", "x"),
        ("modules", "share", 99.0),
        ("modules", "attributes", None),
        ("modules", "attributes", {"eps": []}),
        ("modules", "trainable", 1),
        ("modules", "own_parameters", 1),
        ("modules", "repeat", {"first": 0, "last": "x", "count": 2}),
        ("parameters", "dtype", None),
        ("parameters", "shape", ["x"]),
        ("parameters", "trainable", False),
        ("compute", "peak_fixed", None),
        ("compute", "variables", {"D": 5}),
        ("compute", "peak_elements", [5]),
    ],
)
def test_a_field_of_another_type_or_count_is_noticed(
    folder: Path, cache: Path, lie: tuple[str, str, Any], building: list[str]
) -> None:
    part, field, value = lie
    model = opened(folder)
    first = model.with_formulas() if part == "compute" else model.architecture
    document = model_content(SeenModel(first, ("base",)))["architecture"]
    place = document[part] if part else document
    (place[-1] if isinstance(place, list) else place)[field] = value
    change(cache, "architectures", architecture=document)
    again = opened(folder)
    assert len(building) == 2
    assert (again.with_formulas() if part == "compute" else again.architecture) == first
