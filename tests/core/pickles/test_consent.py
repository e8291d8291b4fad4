"""Pickled weights are read with the user's consent only, and converted once."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from msgspec.structs import replace
from safetensors.torch import load_file

from bertviewer.app import ERROR, main
from bertviewer.core.loading.opening import open_model
from bertviewer.core.pickles import consent
from bertviewer.core.pickles.consent import consented_checkpoint, converted_folder, digest, review
from bertviewer.core.pickles.converting import pickle_files
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.pickles.bad_pickles import SYSTEM


class TestConsent:
    def test_without_it_nothing_is_read(self, folder: Path, cache: Path) -> None:
        source = parse_source(str(folder))
        with pytest.raises(UserError) as raised:
            consented_checkpoint(source, allowed=False)
        assert str(raised.value) == (
            f"{folder / 'pytorch_model.bin'} is a pickle, which can run code when it is loaded; "
            "confirm when opening it, or pass --allow-pickle, to read only its tensors, in a "
            f"separate process; {folder / 'config.json'} opens without them"
        )
        model = open_model(source)
        assert model.architecture.source.weights == "none"
        with pytest.raises(UserError, match="is a pickle, which can run code"):
            model.module(random_weights=False)
        assert not cache.exists()

    def test_with_it_the_weights_are_loaded(self, folder: Path, tiny_bert_folder: Path) -> None:
        model = open_model(replace(parse_source(str(folder)), pickle_allowed=True))
        assert model.architecture.source.weights == "pretrained"
        assert model.architecture.source.random_tensors == ()
        pickle = folder / "pytorch_model.bin"
        assert model.load_report is not None
        assert model.load_report.files == {pickle.name: pickle.stat().st_size}
        expected = load_file(tiny_bert_folder / "model.safetensors")
        found = dict(model.module(random_weights=False).named_parameters())
        assert set(found) == set(expected)
        assert all(torch.equal(found[name], expected[name]) for name in expected)

    def test_shards_keep_their_names(self, folder: Path) -> None:
        tensors = torch.load(folder / "pytorch_model.bin")
        (folder / "pytorch_model.bin").unlink()
        weight_map: dict[str, str] = {}
        for number, names in enumerate((list(tensors)[:5], list(tensors)[5:])):
            # They are read in the order of the index, not of their names.
            name = f"pytorch_model-{2 - number}.bin"
            torch.save({key: tensors[key] for key in names}, folder / name)
            weight_map |= dict.fromkeys(names, name)
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
        checkpoint = consented_checkpoint(parse_source(str(folder)), allowed=True)
        own = {file.path: file.own.name for file in checkpoint.files}
        assert list(own.values()) == ["pytorch_model-2.bin", "pytorch_model-1.bin"]
        assert {name: own[tensor.file] for name, tensor in checkpoint.tensors.items()} == weight_map

    def test_the_review_has_all_that_a_pickle_would_call(self, folder: Path) -> None:
        found = review(folder)
        assert found.refusal == ""
        assert found.key == digest(pickle_files(folder))
        assert found.files[0].unsafe_globals == ()
        torch.save({"a": SYSTEM}, folder / "pytorch_model.bin")
        assert "refused: it asks for posix.system" in review(folder).refusal

    def test_the_command_line_has_an_option_for_it(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = folder / "pytorch_model.bin"
        assert main(["summary", str(folder)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"{ERROR}{file} is a pickle")
        assert captured.err.count("\n") == 1
        assert main(["run", str(folder), "a test", "--allow-pickle"]) == 0
        assert "encoder.layer.1.output" in capsys.readouterr().out
        # A malicious file is refused all the same.
        marker = folder / "marker"
        code = f"\x80\x02cposix\nsystem\nX{chr(len(str(marker)) + 6)}\0\0\0touch {marker}\x85R."
        file.write_bytes(code.encode("latin-1"))
        assert main(["summary", str(folder), "--allow-pickle"]) == 2
        assert capsys.readouterr().err == (
            f"{ERROR}{file}: refused: it asks for posix.system, which tensors never need\n"
        )
        assert not marker.exists()


Convert = Callable[[Path, Path, object], object]
KEY = "0" * 64


class TestCache:
    @pytest.fixture
    def convert(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[Convert], None]:
        """Return a function that replaces the conversion."""
        return lambda function: monkeypatch.setattr(consent, "convert_pickle", function)

    @pytest.fixture
    def conversions(self, tiny_bert_folder: Path, convert: Callable[[Convert], None]) -> list[Path]:
        """Return the paths that are converted, each to the same weights."""
        paths: list[Path] = []

        def copy(path: Path, work: Path, _progress: object) -> None:
            paths.append(path)
            shutil.copy(tiny_bert_folder / "model.safetensors", work)

        convert(copy)
        return paths

    def test_a_file_is_converted_once(
        self, folder: Path, cache: Path, conversions: list[Path]
    ) -> None:
        key = digest(pickle_files(folder))
        for _ in range(2):
            assert converted_folder(folder, key) == cache / key
        assert [path.name for path in cache.iterdir()] == [key]
        assert conversions == [folder]
        # Unless the result is damaged.
        converted = cache / key / "model.safetensors"
        size = converted.stat().st_size
        os.truncate(converted, size - 1)
        converted_folder(folder, key)
        assert converted.stat().st_size == size
        assert conversions == [folder, folder]

    def test_the_key_is_the_hash_of_the_content(self, folder: Path) -> None:
        files = pickle_files(folder)
        key = digest(files)
        os.utime(files[0], (0, 0))
        assert digest(files) == key
        content = bytearray(files[0].read_bytes())
        content[-1] ^= 1
        files[0].write_bytes(content)
        assert digest(files) != key
        assert len({key, digest(files * 2), digest(files * 3)}) == 3

    def test_another_process_may_convert_the_same_file(
        self,
        folder: Path,
        cache: Path,
        tiny_bert_folder: Path,
        convert: Callable[[Convert], None],
    ) -> None:
        def convert_twice(_path: Path, work: Path, _progress: object) -> None:
            for target in (work, cache / KEY):
                target.mkdir(exist_ok=True)
                shutil.copy(tiny_bert_folder / "model.safetensors", target)

        convert(convert_twice)
        assert converted_folder(folder, KEY) == cache / KEY
        assert [path.name for path in cache.iterdir()] == [KEY]

    def test_a_file_that_changes_meanwhile_is_refused(
        self, folder: Path, cache: Path, convert: Callable[[Convert], None]
    ) -> None:
        convert(lambda path, _work, _progress: os.utime(path / "pytorch_model.bin", (0, 0)))
        with pytest.raises(UserError, match="the file changed while it was being read"):
            converted_folder(folder, KEY)
        assert list(cache.iterdir()) == []

    def test_a_read_only_cache_is_used(
        self,
        folder: Path,
        cache: Path,
        conversions: list[Path],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        converted_folder(folder, KEY)

        def fail(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "utime", fail)
        assert converted_folder(folder, KEY) == cache / KEY
        # A damaged entry cannot be removed.
        (cache / KEY / "model.safetensors").write_bytes(b"")
        monkeypatch.setattr(shutil, "rmtree", fail)
        with pytest.raises(UserError, match="weights cannot be converted: Operation not permitted"):
            converted_folder(folder, KEY)

    def test_a_disk_without_room_is_reported(
        self, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        with pytest.raises(UserError, match=r"not enough disk space for 0\.\d GB of converted"):
            converted_folder(folder, KEY)
        assert list(cache.iterdir()) == []
        cache.rmdir()
        cache.write_text("a file in the place of the folder")
        with pytest.raises(UserError, match="weights cannot be converted: File exists"):
            converted_folder(folder, KEY)

    def test_the_least_recently_used_entries_are_removed(
        self,
        folder: Path,
        cache: Path,
        convert: Callable[[Convert], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(consent, "CACHE_BYTES", 2_000)
        ages = {"old": 1000, "newer": 100, ".bertviewer-left": 90_000, ".bertviewer-work": 50}
        for name, age in ages.items():
            (cache / name).mkdir(parents=True)
            (cache / name / "model.safetensors").write_bytes(bytes(1_000))
            time = cache.stat().st_mtime - age
            os.utime(cache / name, (time, time))
        convert(lambda _path, work, _progress: (work / "model.safetensors").write_bytes(bytes(200)))
        converted_folder(folder, KEY)
        assert {path.name for path in cache.iterdir()} == {KEY, "newer", ".bertviewer-work"}
