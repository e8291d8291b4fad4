"""Conversion in a helper process: its results, limits and errors, and that it can be cancelled."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.pickles import converting
from bertviewer.core.pickles.contents import PickleContents
from bertviewer.core.pickles.converting import convert_pickle
from bertviewer.core.util import helper_process
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.helper_process import HelperProcess
from bertviewer.core.util.sandbox import ARGUMENT, LIMIT_EXCEEDED
from tests.core.pickles.bad_pickles import Call
from tests.core.pickles.some_tensors import assert_equal, names_in, some_tensors


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pytorch_model.bin"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


class TestProcess:
    """Through a real helper process."""

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
        monkeypatch.setattr(converting, "available_memory", lambda: 1000)
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

    def test_a_malicious_file_runs_nothing(
        self, tmp_path: Path, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        marker = tmp_path / "marker"
        thing = {"a": torch.ones(2), "b": Call(os.system, f"touch {marker}")}
        for is_zip in (True, False):
            torch.save(thing, file, _use_new_zipfile_serialization=is_zip)
            with pytest.raises(UserError, match=r"refused: it asks for \w+\.system, which"):
                convert_pickle(file, out)
        # Nor where the first look is left out.
        monkeypatch.setattr(PickleContents, "refusal", "")
        with pytest.raises(UserError, match=r"bin: truncated or corrupt \(UnpicklingError\)$"):
            convert_pickle(file, out)
        assert not marker.exists()
        assert names_in(out) == []

    @pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")
    @pytest.mark.parametrize(
        ("code", "said"),
        [
            ("return {'a': torch.zeros(10**9)}", LIMIT_EXCEEDED),
            ("while True: pass", LIMIT_EXCEEDED),
            (
                "open('/etc/passwd')",
                r"refused: it tried to do something .* \(open '/etc/passwd'\)$",
            ),
        ],
    )
    def test_what_torch_might_be_made_to_do(
        self, code: str, said: str, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torch.save({"a": torch.ones(2)}, file)
        monkeypatch.setattr(converting, "SECONDS", 1)
        loading = f"import torch\ndef load(*_, **__):\n    {code}\ntorch.load = load"
        replace_program(monkeypatch, loading)
        with pytest.raises(UserError, match=f"^{re.escape(str(file))}: {said}"):
            convert_pickle(file, out)
        assert names_in(out) == []

    def test_a_result_that_is_no_safetensors_file(
        self, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torch.save({"a": torch.ones(2)}, file)
        code = (
            "import safetensors.torch\n"
            "save = safetensors.torch.save_file\n"
            "def save_file(tensors, target, metadata):\n"
            "    save({}, target, metadata)\n"
            "safetensors.torch.save_file = save_file"
        )
        replace_program(monkeypatch, code)
        with pytest.raises(UserError, match=f"^{re.escape(str(file))}: it contains no tensors"):
            convert_pickle(file, out)
        assert names_in(out) == []

    def test_cancelling_kills_it(
        self, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torch.save({"a": torch.ones(2)}, file)
        started: list[HelperProcess] = []

        def start(*arguments: Any, **options: Any) -> HelperProcess:
            started.append(HelperProcess(*arguments, **options))
            return started[0]

        monkeypatch.setattr(converting, "HelperProcess", start)

        def progress(done: int, total: int, label: str) -> None:
            raise Cancelled

        with pytest.raises(Cancelled):
            convert_pickle(file, out, progress)
        assert started[0].process.returncode is not None
        assert names_in(out) == []


def replace_program(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    """Have code run in the helper process before all else."""
    code = f"{before}\nfrom bertviewer.app import main\nsys.exit(main())"
    command = helper_process.command

    def replaced(*arguments: str) -> list[str]:
        program = command(*arguments)
        place = program.index(ARGUMENT)
        return [program[0], "-c", f"import sys\n{code}", *program[place:]]

    monkeypatch.setattr(helper_process, "command", replaced)
