"""Conversion in a helper process: results, limits, errors, and cancelling."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.core.checkpoints.finding import LINKS_OUTSIDE, find_checkpoint
from bertviewer.core.pickles import converting
from bertviewer.core.pickles.contents import PickleContents
from bertviewer.core.pickles.converting import convert_pickle, pickle_files
from bertviewer.core.util import helper_process
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.helper_process import HelperProcess
from bertviewer.core.util.sandbox import ARGUMENT, LIMIT_EXCEEDED
from tests.core.pickles.bad_pickles import Call
from tests.core.pickles.conftest import assert_equal, some_tensors


class TestFiles:
    """The files of a folder, an index, or a file."""

    def test_folder_file_and_index(self, tmp_path: Path, file: Path) -> None:
        file.write_bytes(b"x")
        assert pickle_files(tmp_path) == pickle_files(file) == (file,)
        file.unlink()
        shards = [tmp_path / f"pytorch_model-{number}.bin" for number in (1, 2)]
        for shard in shards:
            shard.write_bytes(b"x")
        index = tmp_path / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": {"a": shards[0].name, "b": shards[1].name}}))
        assert pickle_files(tmp_path) == pickle_files(index) == tuple(shards)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("../pytorch_model.bin", "is not the name of a file in the same folder"),
            ("model.safetensors", "'model.safetensors' is not a .bin file"),
            ("link.bin", LINKS_OUTSIDE),
            ("missing.bin", "No such file or directory"),
        ],
    )
    def test_an_index_names_files_of_its_folder_only(
        self, tmp_path: Path, file: Path, name: str, message: str
    ) -> None:
        folder = tmp_path / "model"
        folder.mkdir()
        file.write_bytes(b"x")
        (folder / "link.bin").symlink_to(file)
        index = folder / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(UserError, match=f"{re.escape(message)}$"):
            pickle_files(index)


def test_one_file(file: Path, out: Path) -> None:
    torch.save(some_tensors(), file)
    steps: list[tuple[int, int, str]] = []
    assert convert_pickle(file, out, lambda *step: steps.append(step)) == out
    assert [path.name for path in out.iterdir()] == ["model.safetensors"]
    assert_equal(load_file(out / "model.safetensors"), some_tensors())
    assert all(0 <= done <= total == 1000 for done, total, _ in steps)
    labels = {label for _, _, label in steps}
    assert labels == {"Reading pytorch_model.bin in a separate process"}


def test_several_files(tmp_path: Path, out: Path) -> None:
    names = {"a": "pytorch_model-2.bin", "b": "pytorch_model-1.bin"}
    for key, name in names.items():
        torch.save({key: torch.ones(2)}, tmp_path / name)
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 16}, "weight_map": names}))
    found = find_checkpoint(convert_pickle(index, out))
    assert found is not None
    assert set(found.tensors) == {"a", "b"}
    assert len(found.files) == 2


def test_messages_have_the_path_as_it_was_opened(
    file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save({"weight": torch.ones((1,) * 65)}, file)
    monkeypatch.chdir(file.parent)
    with pytest.raises(UserError) as raised:
        convert_pickle(Path(file.name), out)
    assert str(raised.value) == f"{file.name}: bad header: 'weight' has 65 dimensions"


def test_files_larger_than_the_memory_are_refused(
    file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save(some_tensors(), file)
    monkeypatch.setattr("bertviewer.core.util.memory.available_memory", lambda: 1000)
    with pytest.raises(UserError, match=r"reading it needs 0\.\d GB of memory, but only 0\.0"):
        convert_pickle(file, out)


def test_a_malicious_file_runs_nothing(
    tmp_path: Path, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "marker"
    value = {"a": torch.ones(2), "b": Call(os.system, f"touch {marker}")}
    for is_zip in (True, False):
        torch.save(value, file, _use_new_zipfile_serialization=is_zip)
        with pytest.raises(UserError, match=r"refused: it asks for \w+\.system, which"):
            convert_pickle(file, out)
    # Nor without the inspection.
    monkeypatch.setattr(PickleContents, "refusal", "")
    with pytest.raises(UserError, match=r"bin: truncated or corrupt \(UnpicklingError\)$"):
        convert_pickle(file, out)
    assert not marker.exists()
    assert not list(out.iterdir())


def run_first(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Run code in the helper process before everything else."""
    command = helper_process.command
    code = f"import sys\n{code}\nfrom bertviewer.app import main\nsys.exit(main())"

    def command_with_code(*arguments: str) -> list[str]:
        program = command(*arguments)
        return [program[0], "-c", code, *program[program.index(ARGUMENT) :]]

    monkeypatch.setattr(helper_process, "command", command_with_code)


LOAD = "import torch\ndef load(*_, **__):\n    {}\ntorch.load = load"


@pytest.mark.skipif(sys.platform != "linux", reason="the limits exist on Linux only")
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (LOAD.format("return {'a': torch.zeros(10**9)}"), LIMIT_EXCEEDED),
        (LOAD.format("while True: pass"), LIMIT_EXCEEDED),
        (
            LOAD.format("open('/etc/passwd')"),
            r"refused: it tried to do something .* \(open '/etc/passwd'\)$",
        ),
        (
            "import safetensors.torch\nsave = safetensors.torch.save_file\n"
            "safetensors.torch.save_file = lambda tensors, *more: save({}, *more)",
            "it contains no tensors",
        ),
    ],
)
def test_a_file_that_takes_over_the_process_does_no_harm(
    code: str, message: str, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save({"a": torch.ones(2)}, file)
    monkeypatch.setattr(converting, "SECONDS", 1)
    run_first(monkeypatch, code)
    with pytest.raises(UserError, match=f"^{re.escape(str(file))}: {message}"):
        convert_pickle(file, out)
    assert not list(out.iterdir())


def test_cancelling_ends_the_process(
    file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save({"a": torch.ones(2)}, file)
    started: list[HelperProcess] = []

    def start(*arguments: Any, **options: Any) -> HelperProcess:
        started.append(HelperProcess(*arguments, **options))
        return started[0]

    monkeypatch.setattr(converting, "HelperProcess", start)

    def cancel(done: int, total: int, label: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        convert_pickle(file, out, cancel)
    assert started[0].process.returncode is not None
    assert not list(out.iterdir())
