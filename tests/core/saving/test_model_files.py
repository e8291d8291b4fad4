"""Nothing that is saved replaces a file of a model that is open."""

import ast
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.core.saving.atomic_files import check_writable, save
from bertviewer.core.saving.model_files import IS_THE_MODELS
from bertviewer.core.sources.model_source import ModelSource, find_task
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import demo_folder, find_preset
from bertviewer.core.tokenization.files import READ_BY_TRANSFORMERS
from bertviewer.core.util.errors import UserError
from tests.cli.commands import ROOT

OWN = (
    *("config.json", "model.safetensors", "model.safetensors.index.json"),
    *("model-00001-of-00002.safetensors", "pytorch_model.bin", "pytorch_model.bin.index.json"),
    *("pytorch_model-00001-of-00002.bin", "generation_config.json", "tokenizer.4.0.json"),
    *("additional_chat_templates/other.jinja", *READ_BY_TRANSFORMERS),
    *("1_Pooling/config.json", "onnx/model.onnx", "tf_model.h5", "README.md", "modeling_own.py"),
)


def folder_with(folder: Path, names: tuple[str, ...] = OWN) -> Path:
    """Return a model's folder with files of these names, each with its own name in it."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def refused(path: Path, *models: ModelSource) -> None:
    before = path.read_bytes()
    with pytest.raises(UserError, match=IS_THE_MODELS):
        check_writable(path, models)
    with pytest.raises(UserError, match=IS_THE_MODELS):
        save(path, b"new", models)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", OWN)
def test_no_file_of_a_folder_is_replaced(name: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "model")
    refused(folder / name, parse_source(str(folder)))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "pytorch_model.bin"])
def test_nor_what_lies_beside_a_single_file(name: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, ("config.json", "vocab.txt", name))
    model = parse_source(str(folder / name))
    for file in ("config.json", "vocab.txt", name):
        refused(folder / file, model)
    # That folder may be a home.
    (folder / "other.json").write_text("{}")
    save(folder / "other.json", b"new", [model])


@pytest.mark.parametrize("name", ["config.json", "model-00001-of-00002.safetensors"])
def test_nor_other_weights_beside_a_single_file(name: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    model = parse_source(str(folder / name))
    for file in ("model-00002-of-00002.safetensors", "model.gguf"):
        (folder / file).write_text(file)
        refused(folder / file, model)


def test_nor_the_shards_of_an_index(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    model = parse_source(str(folder / "pytorch_model.bin.index.json"))
    refused(folder / "pytorch_model-00001-of-00002.bin", model)


def test_any_of_several_models(tmp_path: Path) -> None:
    models = [parse_source(str(folder_with(tmp_path / name))) for name in ("one", "two")]
    for model in models:
        refused(model.path / "vocab.txt", *models)


@pytest.mark.parametrize(
    "way",
    [
        lambda file, folder: os.link(file, folder / "out.pdf"),
        lambda file, folder: (folder / "out.pdf").symlink_to(file),
        lambda file, folder: (folder / "out.pdf").symlink_to(os.path.relpath(file, folder)),
    ],
    ids=["hard link", "link", "relative link"],
)
def test_by_whatever_name(way: Callable[[Path, Path], None], tmp_path: Path) -> None:
    model = parse_source(str(folder_with(tmp_path / "model")))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    way(model.path / "config.json", folder)
    refused(folder / "out.pdf", model)


def test_through_folders_too(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "model")
    (tmp_path / "other").symlink_to(folder)
    model = parse_source(str(tmp_path / "other"))
    refused(folder / "vocab.txt", model)
    refused(folder / ".." / "model" / "vocab.txt", model)
    refused(tmp_path / "other" / "vocab.txt", parse_source(str(folder)))


def test_what_comes_with_the_program(tmp_path: Path) -> None:
    preset = find_preset("gpt2")
    assert preset is not None
    os.link(preset, tmp_path / "preset.pdf")
    refused(tmp_path / "preset.pdf", parse_source("gpt2"))
    shutil.copy(demo_folder() / "vocab.txt", tmp_path)  # as it is in the package
    (tmp_path / "demo.csv").symlink_to(demo_folder() / "vocab.txt")
    refused(tmp_path / "demo.csv", parse_source("demo"))
    save(tmp_path / "vocab.txt", b"new", [parse_source("demo")])


def test_the_hubs_cache(tmp_path: Path) -> None:
    repository = tmp_path / "models--org--name"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    blob = folder_with(repository / "blobs", ("b" * 40,)) / ("b" * 40)
    (snapshot / "model.safetensors").symlink_to(f"../../blobs/{blob.name}")
    model = ModelSource("hub", "hf://org/name", snapshot, find_task("base"))
    refused(blob, model)
    refused(snapshot / "model.safetensors", model)


def test_a_model_of_the_hub_that_is_to_come_owns_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_with(tmp_path))
    save(Path("config.json"), b"new", [parse_source("hf://org/name")])


def test_what_is_not_the_models_is_replaced_as_ever(tmp_path: Path) -> None:
    model = parse_source(str(folder_with(tmp_path)))
    for content in (b"old", b"new"):
        check_writable(tmp_path / "report.pdf", [model])
        save(tmp_path / "report.pdf", content, [model])
    assert (tmp_path / "report.pdf").read_bytes() == b"new"


def test_nobody_saves_past_it() -> None:
    """What writes without knowing the models: caches, and corpora, whose folder is looked into."""
    found = set()
    for file in (ROOT / "bertviewer").rglob("*.py"):
        names = {
            name.id if isinstance(name, ast.Name) else getattr(name, "attr", "")
            for name in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        }
        if "write_atomically" in names:
            found.add(file.relative_to(ROOT / "bertviewer").as_posix())
    of_corpora = {f"core/corpus/{name}.py" for name in ("making", "plan", "shards", "writing")}
    caches = {"core/saving/atomic_files.py", "core/saving/disk_cache.py", "core/hub/cache.py"}
    assert found == caches | of_corpora
