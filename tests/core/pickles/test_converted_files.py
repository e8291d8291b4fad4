"""What was converted once is kept, and found by its bytes."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from bertviewer.core.pickles import consent as pickle_consent
from bertviewer.core.pickles.consent import (
    converted_folder,
    digest,
)
from bertviewer.core.pickles.converting import pickle_files
from bertviewer.core.util.errors import UserError


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
        made = converted_folder(folder, key)
        assert made == cache / key
        assert [path.name for path in cache.iterdir()] == [key]
        assert converted_folder(folder, key) == made
        assert calls == [folder]
        # One that was damaged since is made anew.
        content = (made / "model.safetensors").read_bytes()
        (made / "model.safetensors").write_bytes(content[:-1])
        assert converted_folder(folder, key) == made
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
        assert converted_folder(folder, key) == cache / key
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
        assert converted_folder(folder, key) == cache / key
        # A damaged one that cannot be removed is told, and no trace is shown.
        (cache / key / "model.safetensors").write_bytes(b"")
        monkeypatch.setattr(shutil, "rmtree", refused)
        with pytest.raises(UserError, match="weights cannot be converted: Operation not permitted"):
            converted_folder(folder, key)

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
        with pytest.raises(UserError, match="the file changed while it was being read"):
            converted_folder(folder, "0" * 64)
        assert list(cache.iterdir()) == []

    def test_no_room(self, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        with pytest.raises(
            UserError, match=r"not enough disk space for 0\.\d GB of converted weights"
        ):
            converted_folder(folder, "0" * 64)
        assert list(cache.iterdir()) == []

    def test_a_cache_that_cannot_be_written(self, folder: Path, cache: Path) -> None:
        cache.parent.mkdir(parents=True)
        cache.write_text("in the way")
        with pytest.raises(UserError, match="weights cannot be converted: File exists"):
            converted_folder(folder, "0" * 64)

    def test_the_oldest_go(
        self, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pickle_consent, "CACHE_BYTES", 2_000)
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
        converted_folder(folder, "0" * 64)
        assert {path.name for path in cache.iterdir()} == {"0" * 64, "newer", ".bertviewer-work"}
