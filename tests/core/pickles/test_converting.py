"""The child process: what it writes, what it refuses, how it dies, and that it can be stopped."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.pickles import converting as pickle_converting
from bertviewer.core.pickles.converting import convert_pickle
from bertviewer.core.util import child_process
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.pickles.bad_pickles import Call
from tests.core.pickles.pickle_process import assert_equal, child, names_in, some_tensors


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pytorch_model.bin"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


class TestProcess:
    """Through a real child."""

    def test_one_file(self, file: Path, out: Path) -> None:
        torch.save(some_tensors(), file)
        steps: list[tuple[int, int, str]] = []
        made = convert_pickle(file, out, lambda *step: steps.append(step))
        assert made == out
        assert names_in(out) == ["model.safetensors"]
        assert_equal(load_file(out / "model.safetensors"), some_tensors())
        assert all(0 <= done <= total == 1000 for done, total, _ in steps)
        assert {label for _, _, label in steps} == {
            "Reading pytorch_model.bin in a separate process"
        }

    def test_the_file_has_the_name_that_it_was_opened_by(
        self, tmp_path: Path, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torch.save({"step": 1}, file)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UserError) as raised:
            convert_pickle(Path(file.name), out)
        assert str(raised.value) == "pytorch_model.bin: it contains no named tensors"
        torch.save({"weight": torch.ones((1,) * 65)}, file)
        with pytest.raises(UserError) as raised:
            convert_pickle(Path(file.name), out)
        assert str(raised.value) == "pytorch_model.bin: bad header: 'weight' has 65 dimensions"

    def test_too_large_for_the_memory(
        self, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torch.save(some_tensors(), file)
        monkeypatch.setattr(pickle_converting, "available_memory", lambda: 1000)
        with pytest.raises(UserError, match=r"reading it needs 0\.\d GB of memory, but only 0\.0"):
            convert_pickle(file, out)

    def test_several_files(self, tmp_path: Path, out: Path) -> None:
        names = {"a": "pytorch_model-2.bin", "b": "pytorch_model-1.bin"}
        for key, name in names.items():
            torch.save({key: torch.ones(2)}, tmp_path / name)
        index = tmp_path / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"metadata": {"total_size": 16}, "weight_map": names}))
        found = find_checkpoint(convert_pickle(index, out))
        assert found is not None
        assert set(found.tensors) == {"a", "b"}
        assert len(found.files) == 2

    def test_a_malicious_file_runs_nothing(self, tmp_path: Path, file: Path, out: Path) -> None:
        marker = tmp_path / "marker"
        thing = {"a": torch.ones(2), "b": Call(os.system, f"touch {marker}")}
        for is_zip in (True, False):
            torch.save(thing, file, _use_new_zipfile_serialization=is_zip)
            with pytest.raises(UserError, match=r"refused: it asks for \w+\.system, which"):
                convert_pickle(file, out)
        # Nor where the first look is left out.
        status, said = child(file, out / "x")
        assert (status, said) == (2, f"{file}: truncated or corrupt (UnpicklingError)")
        assert not marker.exists()
        assert names_in(out) == []

    def test_a_crash_is_one_line(self, file: Path, out: Path, dying: Callable[[str], None]) -> None:
        torch.save({"a": torch.ones(2)}, file)
        dying("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        with pytest.raises(UserError) as raised:
            convert_pickle(file, out)
        assert str(raised.value) == (
            f"{file}: the system stopped reading it (SIGKILL): too much memory or time"
        )
        dying("import os; os.abort()")
        with pytest.raises(UserError, match="the process that read it crashed; details are in"):
            convert_pickle(file, out)
        # One that gives nothing, and one that gives nonsense.
        dying("")
        with pytest.raises(UserError, match="the process that read it crashed"):
            convert_pickle(file, out)
        dying("import sys; open(sys.argv[2], 'w').write('nonsense')")
        with pytest.raises(UserError, match="not a safetensors file"):
            convert_pickle(file, out)
        assert names_in(out) == []

    def test_cancelling_kills_it(self, file: Path, out: Path, dying: Callable[[str], None]) -> None:
        torch.save({"a": torch.ones(2)}, file)
        pids: list[int] = []
        survived = file.with_name("survived")
        dying(
            "import os, sys, time; open(sys.argv[2], 'w').write(str(os.getpid())); time.sleep(60); "
            f"open({str(survived)!r}, 'w')"
        )

        def progress(done: int, total: int, label: str) -> None:
            for started in out.iterdir():
                if text := started.read_text():
                    pids.append(int(text))
                    raise Cancelled

        with pytest.raises(Cancelled):
            convert_pickle(file, out, progress)
        assert not survived.exists()
        assert names_in(out) == []
        with pytest.raises(ProcessLookupError):
            os.kill(pids[0], 0)


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a program of the test's own in the child's place."""

    def use(code: str) -> None:
        monkeypatch.setattr(
            child_process,
            "command",
            lambda kind, arguments: [sys.executable, "-c", code, *arguments],
        )

    return use
