"""Whoever runs the shards, and however often it is stopped: the same bytes in the end."""

import errno
import os
import random
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.corpus import batches, running
from bertviewer.core.corpus.batches import Batch
from bertviewer.core.corpus.heartbeat import Timeouts
from bertviewer.core.corpus.making import Process
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.plan import SHARDS_FOLDER
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import no_progress
from tests.core.corpus.making_corpora import SHARDS, content, made


@pytest.fixture(scope="module")
def whole(
    model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    made(model, data, folder)
    return content(folder)


@pytest.mark.parametrize("world", [2, 3])
def test_processes(
    model: LoadedModel, data: Path, tmp_path: Path, whole: dict[str, bytes], world: int
) -> None:
    for rank in reversed(range(world)):
        found = made(model, data, tmp_path, process=Process(rank, world))
        assert (found is None) is (rank > 0)
    assert content(tmp_path) == whole


def test_a_process_that_is_dead(
    model: LoadedModel, data: Path, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    timeouts = Timeouts(unheard=0.01, pause=0.001)
    with pytest.raises(UserError, match=r"process 1 of 3 did not report .* 4 of 7 shards are miss"):
        made(model, data, tmp_path, process=Process(0, 3), timeouts=timeouts)
    made(model, data, tmp_path)
    assert content(tmp_path) == whole


def test_threads(model: LoadedModel, data: Path, tmp_path: Path, whole: dict[str, bytes]) -> None:
    made(model, data, tmp_path, process=Process(threads=3))
    assert content(tmp_path) == whole


def test_it_goes_on_where_it_was(
    model: LoadedModel, data: Path, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    stopped = 0
    for seed in range(20):
        left = random.Random(seed).randint(1, 3)

        def stop(done: int, total: int, label: str) -> None:
            nonlocal left
            if label.startswith("Sentence"):
                left -= 1
                if not left:
                    raise Cancelled

        try:
            made(model, data, tmp_path, process=Process(threads=2), progress=stop)
        except Cancelled:
            stopped += 1
            continue
        break
    else:
        made(model, data, tmp_path)
    assert stopped
    assert content(tmp_path) == whole


def test_a_broken_shard_is_run_again(
    model: LoadedModel, data: Path, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    made(model, data, tmp_path, process=Process(1, 2))
    broken = tmp_path / SHARDS_FOLDER / "00001.shard"
    broken.write_bytes(broken.read_bytes()[:-9])
    made(model, data, tmp_path)
    assert content(tmp_path) == whole


def test_a_full_disk_costs_no_finished_shard(
    model: LoadedModel,
    data: Path,
    tmp_path: Path,
    whole: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sync, written = os.fsync, 0

    def full(file: int) -> None:
        nonlocal written
        written += 1
        if written > 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(UserError, match=r"cannot write .*shard: No space left on device"):
            made(model, data, tmp_path)
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / SHARDS_FOLDER).glob("*.shard")}
    assert len(kept) == 3  # the plan was the first that was written
    made(model, data, tmp_path)
    assert content(tmp_path) == whole


def test_data_that_vanish_cost_no_finished_shard(
    model: LoadedModel, data: Path, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    copy, folder = tmp_path / data.name, tmp_path / "out"
    copy.write_bytes(data.read_bytes())

    def vanish(done: int, total: int, label: str) -> None:
        if label.startswith("Sentence"):
            copy.unlink(missing_ok=True)

    made(model, copy, folder, process=Process(1, 2))
    with pytest.raises(UserError, match=r"lines\.txt: No such file or directory"):
        made(model, copy, folder, progress=vanish)
    assert list((folder / SHARDS_FOLDER).glob("*.shard"))
    copy.write_bytes(data.read_bytes())
    made(model, copy, folder)
    assert content(folder) == whole


def test_padding_is_in_no_sum(
    model: LoadedModel,
    data: Path,
    tmp_path: Path,
    whole: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(3)

    def padded(*given: Any) -> Batch:
        batch = batches.batch_of(*given)
        for row, length in enumerate(batch.lengths.tolist()):
            rest = batch.mask.shape[1] - length
            batch.source.ids[row, length:] = [chance.randrange(200) for _ in range(rest)]
        return batch

    monkeypatch.setattr(running, "batch_of", padded)
    made(model, data, tmp_path)
    assert content(tmp_path) == whole


def test_other_choices_are_another_run(model: LoadedModel, data: Path, tmp_path: Path) -> None:
    made(model, data, tmp_path, process=Process(1, 2))
    with pytest.raises(UserError, match=r"shards of another run \(options differ\)"):
        made(model, data, tmp_path, CorpusOptions(shards=7, batch_tokens=99))
    made(model, data, tmp_path)
    before = content(tmp_path)
    made(model, data, tmp_path)
    assert content(tmp_path) == before
    with pytest.raises(UserError, match="already holds another corpus"):
        made(model, data, tmp_path, CorpusOptions(shards=7, batch_tokens=99))


def test_a_folder_of_somebody_else(model: LoadedModel, data: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=r"the folder contains other files, such as notes\.txt"):
        made(model, data, tmp_path)


def test_nothing_of_a_run_changes_torch(model: LoadedModel, data: Path, tmp_path: Path) -> None:
    import torch

    before = torch.get_num_threads()
    made(model, data, tmp_path, SHARDS, progress=no_progress)
    assert torch.get_num_threads() == before
    assert torch.is_grad_enabled()
