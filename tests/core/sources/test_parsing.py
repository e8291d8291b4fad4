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
from bertviewer.core.sources.presets import PRESETS, preset_names
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.files import resources_folder


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_a_file_without_weights(name: str) -> None:
    source = parse_source(name)
    assert source.kind == "preset"
    assert source.path.is_file()
    assert not source.has_weights


def test_presets_are_exactly_the_files_in_the_folder() -> None:
    files = {path.stem for path in (resources_folder() / "presets").glob("*.json")}
    assert files == set(preset_names())
    assert len(PRESETS) == len(files)


def test_demo_has_weights() -> None:
    source = parse_source("demo")
    assert source.kind == "demo"
    assert source.has_weights
    assert (source.path / "vocab.txt").is_file()


def test_folder_and_config_file(tiny_bert_folder: Path) -> None:
    folder = parse_source(str(tiny_bert_folder))
    assert (folder.kind, folder.has_weights) == ("folder", True)
    config = parse_source(str(tiny_bert_folder / "config.json"))
    assert (config.kind, config.has_weights) == ("config", False)


def test_preset_wins_over_a_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gpt2").mkdir()
    (tmp_path / "gpt2" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert parse_source("gpt2").kind == "preset"
    assert parse_source("./gpt2").kind == "folder"


def test_task_is_found() -> None:
    assert parse_source("gpt2", "masked-lm").task.auto_class == "AutoModelForMaskedLM"
    with pytest.raises(UserError, match="unknown task 'poetry'"):
        parse_source("gpt2", "poetry")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such-model", "unknown model 'no-such-model'"),
        ("", "the model name is empty"),
        (".", "folder has no config.json and no weights"),
        ("a\0b", "unknown model"),
        ("x" * 5000, "name too long"),
    ],
)
def test_refused_names(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"(?i){message}") as raised:
        parse_source(name)
    assert "\n" not in str(raised.value)


def test_refused_folder_and_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the folder has no config\.json and no weights"):
        parse_source(str(tmp_path))
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UserError, match=r"not a model folder, a config\.json or a weight file"):
        parse_source(str(tmp_path / "notes.txt"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a configuration alone."""
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    return tmp_path


@pytest.mark.parametrize("file", ["pytorch_model.bin", "pytorch_model.bin.index.json"])
def test_a_folder_with_a_pickle(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"")
    for path in (folder, folder / file):
        source = parse_source(str(path))
        assert (source.kind, source.has_weights) == ("pickle", False)
        assert replace(source, pickle_allowed=True).has_weights
        assert source.config_file == folder / "config.json"
    assert parse_source(str(folder / "config.json")).kind == "config"


@pytest.mark.parametrize("file", ["model.safetensors", "model.safetensors.index.json"])
def test_safetensors_come_before_a_pickle(folder: Path, file: str) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"")
    (folder / file).write_bytes(b"")
    source = parse_source(str(folder))
    assert (source.kind, source.has_weights) == ("folder", True)


def test_one_file_of_weights(folder: Path) -> None:
    file = folder / "shard.safetensors"
    file.write_bytes(b"")
    source = parse_source(str(file))
    assert (source.kind, source.has_weights, source.folder) == ("weights", True, folder)
    assert source.config_file == folder / "config.json"
    (folder / "config.json").unlink()
    assert parse_source(str(file)).config_file is None


def test_shards_without_an_index_are_not_called_no_weights(folder: Path) -> None:
    (folder / "model-00001-of-00002.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"model\.safetensors\.index\.json is missing"):
        assert parse_source(str(folder)).has_weights


@pytest.mark.parametrize("name", ["config.json", "pytorch_model.bin"])
@pytest.mark.parametrize(
    ("put", "said"),
    [
        (os.mkfifo, NOT_REGULAR),
        (Path.mkdir, NOT_REGULAR),
        (lambda file: file.symlink_to("/etc/passwd"), LINKS_OUTSIDE),
        (lambda file: file.symlink_to("/dev/zero"), LINKS_OUTSIDE),
        (lambda file: file.symlink_to("nothing"), "No such file or directory"),
    ],
    ids=["pipe", "folder", "passwd", "zero", "nothing"],
)
def test_what_is_no_file_is_told_and_not_passed_over(
    name: str, put: Callable[[Path], None], said: str, tmp_path: Path, tiny_bert_folder: Path
) -> None:
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    (folder / ("model.safetensors" if name.endswith(".bin") else name)).unlink()
    put(folder / name)
    with pytest.raises(UserError) as raised:
        open_model(replace(parse_source(str(folder)), pickle_allowed=True))
    assert str(raised.value).startswith(f"{folder / name}: {said}")


def test_a_pipe_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(UserError, match="neither a file nor a folder"):
        parse_source(str(tmp_path / "model.safetensors"))


def test_an_unknown_home_folder_is_one_line() -> None:
    with pytest.raises(UserError, match="nosuchuser"):
        parse_source("~nosuchuser/model")


@pytest.mark.parametrize(
    ("text", "repo", "revision"),
    [
        ("hf://org/name", "org/name", "main"),
        ("org/name", "org/name", "main"),
        ("  hf://gpt2 ", "gpt2", "main"),
        ("hf://org/name@v1.0", "org/name", "v1.0"),
        ("hf://org/name@refs/pr/1", "org/name", "refs/pr/1"),
        ("hf://a-b/c_d.e@" + "0f" * 20, "a-b/c_d.e", "0f" * 20),
    ],
)
def test_names(text: str, repo: str, revision: str) -> None:
    name = parse_hub_name(text)
    assert (name.repo, name.revision) == (repo, revision)
    assert parse_hub_name(str(name)) == name


@pytest.mark.parametrize(
    "text",
    ["hf://", "hf://a/b/c", "hf:///x", "hf://x/", "hf://../x", "hf://a/..", "hf://a--b/c",
     "hf://a b/c", "hf://a/b?c", "hf://a/b#c", "hf://-a/b", "hf://a/b-", "hf://a/<b>", "hf://é/b",
     "hf://" + "a" * 97, "https://huggingface.co/a/b", "hf://a\\b", "hf://a/b\x00"],
)  # fmt: skip
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match=r"a Hub model is written as hf://org/name\[@revision\]"):
        parse_hub_name(text)


@pytest.mark.parametrize(
    "revision",
    ["", "../x", "/x", "x/", "a//b", "a b", "x\x00", "é", "x.lock", "-x", "@", "x" * 201],
)
def test_revisions_that_are_none(revision: str) -> None:
    with pytest.raises(UserError, match="is not a branch, a tag or a commit"):
        parse_hub_name(f"hf://org/name@{revision}")
