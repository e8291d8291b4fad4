"""Names that the user may type, and the sources that they mean."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import LINKS_OUTSIDE
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.model_source import parse_hub_name
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.files import resources_folder
from tests.tools.refusals import refusals


def kind(path: Path) -> tuple[str, bool]:
    source = parse_source(str(path))
    return source.kind, source.has_weights


def test_presets_are_the_files_in_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in preset_names():
        source = parse_source(name)
        assert (source.kind, source.has_weights) == ("preset", False)
        assert source.path.is_file()
    files = {path.stem for path in (resources_folder() / "presets").glob("*.json")}
    assert files == set(preset_names())
    # They take precedence over folders.
    (tmp_path / "gpt2").mkdir()
    (tmp_path / "gpt2" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert parse_source("gpt2").kind == "preset"
    assert parse_source("./gpt2").kind == "folder"


def test_the_demo_has_weights_and_a_vocabulary() -> None:
    source = parse_source("demo")
    assert (source.kind, source.has_weights) == ("demo", True)
    assert (source.path / "vocab.txt").is_file()


def test_folders_and_configurations(tiny_bert_folder: Path) -> None:
    assert kind(tiny_bert_folder) == ("folder", True)
    assert kind(tiny_bert_folder / "config.json") == ("config", False)


def test_tasks() -> None:
    assert parse_source("gpt2", "masked-lm").task.auto_class == "AutoModelForMaskedLM"
    with pytest.raises(UserError, match="unknown task 'poetry'"):
        parse_source("gpt2", "poetry")


def test_other_names_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "empty").mkdir()
    names = ("no-such-model", "", "empty", "a\0b", "notes.txt", "pipe.safetensors", "~nosuchuser/x")
    cases = {**{repr(name): name for name in names}, "a long name": "x" * 5000}
    golden("refusals/names.txt", refusals(parse_source, cases, "x" * 5000))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a configuration only."""
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    return tmp_path


@pytest.mark.parametrize(
    "name",
    ["pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "best.pth", "last.ckpt"],
)
def test_pickles(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"")
    for path in (folder, folder / name):
        source = parse_source(str(path))
        assert (source.kind, source.has_weights) == ("pickle", False)
        assert replace(source, pickle_allowed=True).has_weights
        assert source.config_file == folder / "config.json"
    assert kind(folder / "config.json") == ("config", False)


@pytest.mark.parametrize("name", ["model.safetensors", "model.safetensors.index.json"])
def test_safetensors_take_precedence_over_pickles(folder: Path, name: str) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"")
    (folder / name).write_bytes(b"")
    assert kind(folder) == ("folder", True)


def test_one_weight_file(folder: Path) -> None:
    file = folder / "shard.safetensors"
    file.write_bytes(b"")
    source = parse_source(str(file))
    assert (source.kind, source.has_weights, source.folder) == ("weights", True, folder)
    assert source.config_file == folder / "config.json"
    (folder / "config.json").unlink()
    assert parse_source(str(file)).config_file is None


def test_shards_without_an_index_are_refused(folder: Path) -> None:
    (folder / "model-00001-of-00002.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"model\.safetensors\.index\.json is missing"):
        parse_source(str(folder))


@pytest.mark.parametrize("name", ["config.json", "pytorch_model.bin"])
@pytest.mark.parametrize(
    ("create", "message"),
    [
        (os.mkfifo, NOT_REGULAR),
        (Path.mkdir, NOT_REGULAR),
        (lambda file: file.symlink_to("/etc/passwd"), LINKS_OUTSIDE),
        (lambda file: file.symlink_to("nothing"), "No such file or directory"),
    ],
    ids=["pipe", "folder", "outside", "nothing"],
)
def test_only_regular_files_of_the_folder_are_opened(
    name: str, create: Callable[[Path], None], message: str, tmp_path: Path, tiny_bert_folder: Path
) -> None:
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    (folder / ("model.safetensors" if name.endswith(".bin") else name)).unlink()
    create(folder / name)
    with pytest.raises(UserError) as raised:
        open_model(replace(parse_source(str(folder)), pickle_allowed=True))
    assert str(raised.value).startswith(f"{folder / name}: {message}")


def test_hub_names() -> None:
    names = {
        "hf://org/name": ("org/name", "main"),
        "org/name": ("org/name", "main"),
        "  hf://gpt2 ": ("gpt2", "main"),
        "hf://org/name@v1.0": ("org/name", "v1.0"),
        "hf://org/name@refs/pr/1": ("org/name", "refs/pr/1"),
        "hf://a-b/c_d.e@" + "0f" * 20: ("a-b/c_d.e", "0f" * 20),
    }
    for text, (repo, revision) in names.items():
        name = parse_hub_name(text)
        assert (name.repo, name.revision) == (repo, revision)
        assert parse_hub_name(str(name)) == name


def test_invalid_hub_names_are_refused() -> None:
    names = ["", "a/b/c", "/x", "x/", "../x", "a/..", "a--b/c", "a b/c", "a/b?c", "a/b#c", "-a/b",
             "a/b-", "a/<b>", "é/b", "a" * 97, "a\\b", "a/b\x00"]  # fmt: skip
    for text in (*(f"hf://{name}" for name in names), "https://huggingface.co/a/b"):
        with pytest.raises(UserError, match=r"a Hub model is written as hf://org/name\[@rev"):
            parse_hub_name(text)
    revisions = ["", "../x", "/x", "x/", "a//b", "a b", "x\x00", "é", "x.lock", "-x", "@"]
    for revision in (*revisions, "x" * 201):
        with pytest.raises(UserError, match="is not a branch, a tag or a commit"):
            parse_hub_name(f"hf://org/name@{revision}")
