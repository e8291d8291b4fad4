"""Files of an open model are never replaced, under any name."""

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
    """Return a folder with files of these names."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def assert_refused(path: Path, *models: ModelSource) -> None:
    before = path.read_bytes()
    with pytest.raises(UserError, match=IS_THE_MODELS):
        check_writable(path, models)
    with pytest.raises(UserError, match=IS_THE_MODELS):
        save(path, b"new", models)
    assert path.read_bytes() == before


def test_files_in_the_folder_of_a_model(tmp_path: Path) -> None:
    model = parse_source(str(folder_with(tmp_path / "model")))
    other = parse_source(str(folder_with(tmp_path / "other")))
    for name in OWN:
        assert_refused(model.path / name, model)
        assert_refused(model.path / name, other, model)
    for content in (b"old", b"new"):
        check_writable(model.path / "report.pdf", [model])
        save(model.path / "report.pdf", content, [model])
    assert (model.path / "report.pdf").read_bytes() == b"new"


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "model.safetensors",
        "model-00001-of-00002.safetensors",
        "pytorch_model.bin",
        "pytorch_model.bin.index.json",
    ],
)
def test_files_next_to_a_single_file_of_a_model(name: str, tmp_path: Path) -> None:
    model = parse_source(str(folder_with(tmp_path) / name))
    weights = ("model-00002-of-00002.safetensors", "model.gguf", "MODEL.GGUF", "x.Safetensors")
    folder_with(tmp_path, weights)
    shard = "pytorch_model-00001-of-00002.bin"
    for file in (name, "config.json", "vocab.txt", shard, *weights):
        assert_refused(tmp_path / file, model)
    if "index" not in name:  # the folder may be a home
        save(tmp_path / "other.json", b"new", [model])


def hard_link(file: Path, link: Path) -> None:
    os.link(file, link)


def symbolic_link(file: Path, link: Path) -> None:
    link.symlink_to(file)


def relative_link(file: Path, link: Path) -> None:
    link.symlink_to(os.path.relpath(file, link.parent))


@pytest.mark.parametrize("create", [hard_link, symbolic_link, relative_link])
def test_other_names_of_a_file(create: Callable[[Path, Path], None], tmp_path: Path) -> None:
    model = parse_source(str(folder_with(tmp_path / "model")))
    create(model.path / "config.json", tmp_path / "out.pdf")
    assert_refused(tmp_path / "out.pdf", model)


def test_other_names_of_a_folder(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "model")
    (tmp_path / "other").symlink_to(folder)
    model = parse_source(str(tmp_path / "other"))
    assert_refused(folder / "vocab.txt", model)
    assert_refused(folder / ".." / "model" / "vocab.txt", model)
    assert_refused(tmp_path / "other" / "vocab.txt", parse_source(str(folder)))


def test_presets_and_the_demo(tmp_path: Path) -> None:
    preset = find_preset("gpt2")
    assert preset is not None
    os.link(preset, tmp_path / "preset.pdf")
    assert_refused(tmp_path / "preset.pdf", parse_source("gpt2"))
    (tmp_path / "demo.csv").symlink_to(demo_folder() / "vocab.txt")
    assert_refused(tmp_path / "demo.csv", parse_source("demo"))
    shutil.copy(demo_folder() / "vocab.txt", tmp_path)
    save(tmp_path / "vocab.txt", b"new", [parse_source("demo")])


def test_models_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "models--org--name"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    blob = folder_with(repository / "blobs", ("b" * 40,)) / ("b" * 40)
    (snapshot / "model.safetensors").symlink_to(f"../../blobs/{blob.name}")
    model = ModelSource("hub", "hf://org/name", snapshot, find_task("base"))
    assert_refused(blob, model)
    assert_refused(snapshot / "model.safetensors", model)
    # One that is not downloaded has no files.
    monkeypatch.chdir(folder_with(tmp_path / "work"))
    save(Path("config.json"), b"new", [parse_source("hf://org/name")])


def test_only_these_modules_write_without_knowing_the_models() -> None:
    """Caches do, and corpora, whose folder is checked before."""
    found = set()
    for file in (ROOT / "bertviewer").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        names = ast.walk(ast.parse(text)) if "write_atomically" in text else ()
        if any(
            "write_atomically" in (getattr(it, "id", ""), getattr(it, "attr", "")) for it in names
        ):
            found.add(file.relative_to(ROOT / "bertviewer").as_posix())
    corpora = {f"core/corpus/{name}.py" for name in ("making", "plan", "shards", "writing")}
    caches = {"core/saving/atomic_files.py", "core/saving/disk_cache.py", "core/hub/cache.py"}
    assert found == caches | corpora
