"""Consent: without it nothing is read; with it once, and then from the cache."""

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.app import ERROR, main
from bertviewer.core.errors import UserError
from bertviewer.core.loading.opening import open_model
from bertviewer.core.pickles import consent as pickle_consent
from bertviewer.core.pickles.consent import (
    consented_checkpoint,
    digest,
    examine,
    kept_checkpoint,
)
from bertviewer.core.pickles.files import pickle_files
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.source.parsing import parse_source
from bertviewer.core.weights.finding import LEAVES
from tests.core.pickles.bad_pickles import SYSTEM


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the program a cache of its own, and return where converted weights lie in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bertviewer" / "converted"


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return the tiny BERT with its weights as a pickle."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    tensors = load_file(folder / "model.safetensors")
    torch.save(tensors, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def allowed(source: ModelSource) -> ModelSource:
    return ModelSource(source.kind, source.name, source.path, source.task, pickle_allowed=True)


class TestConsent:
    def test_without_it(self, folder: Path, cache: Path) -> None:
        source = parse_source(str(folder))
        with pytest.raises(UserError) as raised:
            consented_checkpoint(source, allowed=False)
        assert str(raised.value) == (
            f"{folder / 'pytorch_model.bin'} is a pickle, which can run code when it is read; "
            "agree when it is opened, or with --allow-pickle, and its tensors alone are read, in "
            f"a process of their own; {folder / 'config.json'} opens without them"
        )
        assert not cache.exists()

    def test_with_it_the_model_runs(self, folder: Path, tiny_bert_folder: Path) -> None:
        model = open_model(allowed(parse_source(str(folder))))
        assert model.architecture.source.weights == "pretrained"
        assert model.architecture.source.random_tensors == ()
        expected = load_file(tiny_bert_folder / "model.safetensors")
        found = dict(model.module(random_weights=False).named_parameters())
        assert set(found) == set(expected)
        assert all(torch.equal(found[name], expected[name]) for name in expected)

    def test_it_is_called_by_the_name_of_the_pickle(self, folder: Path) -> None:
        pickle = folder / "pytorch_model.bin"
        keys = open_model(allowed(parse_source(str(folder)))).keys
        assert keys is not None
        assert keys.files == {pickle.name: pickle.stat().st_size}

    def test_so_are_several(self, folder: Path) -> None:
        tensors = torch.load(folder / "pytorch_model.bin")
        (folder / "pytorch_model.bin").unlink()
        weight_map: dict[str, str] = {}
        for number, names in enumerate((list(tensors)[:5], list(tensors)[5:])):
            # They are read in the order of the index, which need not be that of their names.
            name = f"pytorch_model-{2 - number}.bin"
            torch.save({key: tensors[key] for key in names}, folder / name)
            weight_map |= dict.fromkeys(names, name)
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
        checkpoint = consented_checkpoint(parse_source(str(folder)), allowed=True)
        assert [file.own.name for file in checkpoint.files] == [
            "pytorch_model-2.bin",
            "pytorch_model-1.bin",
        ]
        own = {file.path: file.own.name for file in checkpoint.files}
        assert {name: own[tensor.file] for name, tensor in checkpoint.tensors.items()} == weight_map

    def test_the_architecture_opens_without_it(self, folder: Path, cache: Path) -> None:
        model = open_model(parse_source(str(folder)))
        assert model.architecture.source.weights == "none"
        assert not cache.exists()
        with pytest.raises(UserError, match="is a pickle, which can run code"):
            model.module(random_weights=False)


class TestCache:
    def test_a_file_is_converted_once(
        self,
        folder: Path,
        cache: Path,
        tiny_bert_folder: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        calls = []

        def convert(path: Path, work: Path, _progress: object) -> Path:
            calls.append(path)
            shutil.copy(tiny_bert_folder / "model.safetensors", work)
            return work

        monkeypatch.setattr(pickle_consent, "convert_pickle", convert)
        key = digest(pickle_files(folder))
        made = kept_checkpoint(folder, key)
        assert made == cache / key
        assert [path.name for path in cache.iterdir()] == [key]
        assert kept_checkpoint(folder, key) == made
        assert calls == [folder]
        # One that was damaged since is made anew.
        content = (made / "model.safetensors").read_bytes()
        (made / "model.safetensors").write_bytes(content[:-1])
        assert kept_checkpoint(folder, key) == made
        assert (made / "model.safetensors").read_bytes() == content
        assert calls == [folder, folder]

    def test_another_program_was_quicker(
        self,
        folder: Path,
        cache: Path,
        tiny_bert_folder: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        key = digest(pickle_files(folder))

        def convert(_path: Path, work: Path, _progress: object) -> Path:
            for made in (work, cache / key):
                made.mkdir(exist_ok=True)
                shutil.copy(tiny_bert_folder / "model.safetensors", made)
            return work

        monkeypatch.setattr(pickle_consent, "convert_pickle", convert)
        assert kept_checkpoint(folder, key) == cache / key
        assert [path.name for path in cache.iterdir()] == [key]

    def test_a_cache_that_may_only_be_read(
        self, folder: Path, cache: Path, tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = digest(pickle_files(folder))
        (cache / key).mkdir(parents=True)
        shutil.copy(tiny_bert_folder / "model.safetensors", cache / key)

        def refused(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "utime", refused)
        assert kept_checkpoint(folder, key) == cache / key
        # A damaged one that cannot be removed is told, and no trace is shown.
        (cache / key / "model.safetensors").write_bytes(b"")
        monkeypatch.setattr(shutil, "rmtree", refused)
        with pytest.raises(UserError, match="weights cannot be converted: Operation not permitted"):
            kept_checkpoint(folder, key)

    def test_the_key_is_that_of_the_bytes(self, folder: Path) -> None:
        files = pickle_files(folder)
        key = digest(files)
        os.utime(files[0], (0, 0))
        assert digest(files) == key
        content = bytearray(files[0].read_bytes())
        content[-1] ^= 1
        files[0].write_bytes(content)
        assert digest(files) != key
        assert len({key, digest((files[0],) * 2), digest((files[0],) * 3)}) == 3

    def test_a_file_that_changes_meanwhile(
        self, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def convert(path: Path, work: Path, _progress: object) -> Path:
            os.utime(path / "pytorch_model.bin", (0, 0))
            return work

        monkeypatch.setattr(pickle_consent, "convert_pickle", convert)
        with pytest.raises(UserError, match="it was changed while it was read"):
            kept_checkpoint(folder, "0" * 64)
        assert list(cache.iterdir()) == []

    def test_no_room(self, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        with pytest.raises(UserError, match=r"no room for 0\.\d GB of converted weights"):
            kept_checkpoint(folder, "0" * 64)
        assert list(cache.iterdir()) == []

    def test_a_cache_that_cannot_be_written(self, folder: Path, cache: Path) -> None:
        cache.parent.mkdir(parents=True)
        cache.write_text("in the way")
        with pytest.raises(UserError, match="weights cannot be converted: File exists"):
            kept_checkpoint(folder, "0" * 64)

    def test_the_oldest_go(
        self, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pickle_consent, "KEPT_BYTES", 2_500)
        for age, name in ((1000, "old"), (100, "newer"), (90_000, ".bertviewer-left"),
                          (50, ".bertviewer-work")):  # fmt: skip
            (cache / name).mkdir(parents=True)
            (cache / name / "model.safetensors").write_bytes(bytes(1_000))
            when = cache.stat().st_mtime - age
            os.utime(cache / name, (when, when))

        def convert(_path: Path, work: Path, _progress: object) -> Path:
            (work / "model.safetensors").write_bytes(bytes(200))
            return work

        monkeypatch.setattr(pickle_consent, "convert_pickle", convert)
        kept_checkpoint(folder, "0" * 64)
        assert {path.name for path in cache.iterdir()} == {"0" * 64, "newer", ".bertviewer-work"}


class TestFiles:
    def test_a_folder_a_file_and_an_index(self, folder: Path) -> None:
        file = folder / "pytorch_model.bin"
        assert pickle_files(folder) == pickle_files(file) == (file,)
        shards = [folder / f"pytorch_model-{number}.bin" for number in (1, 2)]
        for shard in shards:
            shutil.copy(file, shard)
        file.unlink()
        index = folder / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": {"a": shards[0].name, "b": shards[1].name}}))
        assert pickle_files(folder) == pickle_files(index) == tuple(shards)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            (
                "../pytorch_model.bin",
                "bad index: '../pytorch_model.bin' is not the name of a file beside it",
            ),
            ("/etc/x.bin", "bad index: '/etc/x.bin' is not the name of a file beside it"),
            ("..\\x.bin", "bad index: '..\\\\x.bin' is not the name of a file beside it"),
            ("model.safetensors", "bad index: 'model.safetensors' is no .bin file"),
            (3, "bad index: the file of 'a' is not a name"),
            ("link.bin", LEAVES),
            ("missing.bin", "No such file or directory"),
        ],
    )
    def test_an_index_that_leads_away(self, tmp_path: Path, name: object, said: str) -> None:
        inside = tmp_path / "model"
        inside.mkdir()
        (tmp_path / "pytorch_model.bin").write_bytes(b"x")
        (inside / "link.bin").symlink_to(tmp_path / "pytorch_model.bin")
        index = inside / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(UserError) as raised:
            pickle_files(index)
        assert str(raised.value).endswith(f": {said}")

    @pytest.mark.parametrize(
        "content", ["", "[]", "{}", '{"weight_map": {}}', '{"weight_map": 3}', "[" * 10**5]
    )
    def test_a_bad_index(self, tmp_path: Path, content: str) -> None:
        index = tmp_path / "pytorch_model.bin.index.json"
        index.write_text(content)
        with pytest.raises(UserError, match=r"index\.json: bad index: "):
            pickle_files(index)


def test_what_is_asked_about(folder: Path) -> None:
    found = examine(folder)
    assert found.refusal == ""
    assert found.key == digest(pickle_files(folder))
    assert found.files[0].refused == ()
    torch.save({"a": SYSTEM}, folder / "pytorch_model.bin")
    assert "refused: it asks for posix.system" in examine(folder).refusal


class TestCommands:
    """The command line; the child process is a real one."""

    def test_refused_and_allowed(
        self, folder: Path, capsys: pytest.CaptureFixture[str], cache: Path
    ) -> None:
        assert main(["summary", str(folder)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        (line,) = said.err.splitlines()
        assert line.startswith(f"{ERROR}{folder / 'pytorch_model.bin'} is a pickle")
        assert not cache.exists()
        assert main(["summary", str(folder), "--allow-pickle"]) == 0
        assert "pretrained weights" in capsys.readouterr().out.splitlines()[0]
        assert main(["run", str(folder), "a test", "--allow-pickle"]) == 0
        assert "encoder.layer.1.output" in capsys.readouterr().out

    def test_a_malicious_one(
        self, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        marker = tmp_path / "marker"
        code = f"\x80\x02cposix\nsystem\nX{chr(len(str(marker)) + 6)}\0\0\0touch {marker}\x85R."
        file = folder / "pytorch_model.bin"
        file.write_bytes(code.encode("latin-1"))
        assert main(["summary", str(folder), "--allow-pickle"]) == 2
        assert capsys.readouterr().err == (
            f"{ERROR}{file}: refused: it asks for posix.system, which no tensor needs\n"
        )
        assert not marker.exists()
