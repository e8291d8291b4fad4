"""A corpus of a model that is loaded layer by layer has the bytes of the model in memory."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from torch import Tensor

from bertviewer.core.checkpoints.stored import StoredTensor
from bertviewer.core.corpus import running
from bertviewer.core.corpus.making import Process
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.plan import SHARDS_FOLDER
from bertviewer.core.loading import layer_synchronizer as synchronizer
from bertviewer.core.loading.lazy_parameter import lazy_parameters
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.loading.pretrained import read_each
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from tests.core.corpus.making_corpora import content, made
from tests.core.loading import saved_models

FEW = CorpusOptions(limit=24, batch_size=3, shards=3)
"""Eight batches in three shards."""


@pytest.fixture
def lazy(folder: Path) -> LoadedModel:
    """Return the model, to be loaded layer by layer."""
    return open_model(replace(parse_source(str(folder)), offload=True))


@pytest.fixture
def one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the batches of all shards fit into one group."""
    monkeypatch.setattr(synchronizer.LayerSynchronizer, "largest", 10**9)


@pytest.mark.usefixtures("one_group")
@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("bert", "masked-lm"),  # a tied head
        ("albert", "base"),  # one layer, called again and again
        ("t5", "base"),  # two stacks, one table
        ("squeezebert", "base"),  # layers whose forward is called directly
        ("mixtral", "base"),
    ],
)
def test_the_bytes_are_those_of_the_model_in_memory(
    family: str, task: str, data: Path, tmp_path: Path
) -> None:
    saved_models.save(tmp_path / "model", family, task)
    both = []
    for offload in (True, False):
        model = saved_models.opened(tmp_path / "model", family, task, offload=offload)
        made(model, data, tmp_path / f"{offload}", replace(FEW, max_tokens=20))
        assert bool(lazy_parameters(model.running_module)) is offload
        both.append(content(tmp_path / f"{offload}"))
    assert both[0] == both[1]


@pytest.mark.usefixtures("one_group")
def test_a_layer_is_read_once_for_a_group(
    lazy: LoadedModel, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: Counter[str] = Counter()

    def counted(
        tensors: Sequence[StoredTensor], progress: Progress
    ) -> Iterator[tuple[StoredTensor, Tensor]]:
        times.update(tensor.name for tensor in tensors)
        return read_each(tensors, progress)

    monkeypatch.setattr("bertviewer.core.loading.lazy_parameter.read_each", counted)
    made(lazy, data, tmp_path, FEW)
    # Once for the small batches of the probe, once for all sentences.
    assert set(times.values()) == {2}
    assert {name.rpartition(".layer.")[2][0] for name in times if ".layer." in name} == {"0", "1"}


@pytest.mark.parametrize(
    ("items", "room", "groups"),
    [
        ([(0, 3), (0, 3), (0, 3), (0, 5), (0, 1)], 8, [2, 2, 1]),
        ([(0, 1), (0, 12), (0, 1)], 8, [1, 1, 1]),  # a batch that is larger
        ([(0, 1), (1, 1), (2, 1), (2, 1)], 8, [2, 2]),  # sums of another shard take 4 bytes
        ([(0, 1)] * 3, 0, [1, 1, 1]),
        ([(0, 1)] * (running.MAX_BATCHES + 1), 10**6, [running.MAX_BATCHES, 1]),
    ],
)
def test_groups_fit_into_the_room(
    items: list[tuple[int, int]], room: int, groups: list[int]
) -> None:
    sums: Any = SimpleNamespace(nbytes=4)
    found = running.grouped((running.Item(shard, sums, None, kept) for shard, kept in items), room)
    assert [len(group) for group in found] == groups


def test_a_run_is_continued_with_and_without(
    lazy: LoadedModel, model: LoadedModel, data: Path, tmp_path: Path
) -> None:
    made(model, data, tmp_path / "whole", FEW)
    for first, second, folder in ((model, lazy, "a"), (lazy, model, "b")):
        made(first, data, tmp_path / folder, FEW, process=Process(1, 2))
        assert len(list((tmp_path / folder / SHARDS_FOLDER).glob("*.shard"))) == 1
        made(second, data, tmp_path / folder, FEW)
        assert content(tmp_path / folder) == content(tmp_path / "whole")


PROBED = 4
"""Calls of each module in the probe."""


@pytest.mark.usefixtures("one_group")
@pytest.mark.parametrize(
    ("at", "message"),
    [
        (1, r"the model cannot run a batch: .*no more"),
        (PROBED + 5, r"the model cannot run these sentences: .*no more"),
        (PROBED, r"model\.safetensors: No such file"),
    ],
)
def test_a_failure_ends_all_batches_and_unloads_all_weights(  # noqa: PLR0917
    at: int, message: str, lazy: LoadedModel, folder: Path, data: Path, tmp_path: Path
) -> None:
    module = lazy.module(random_weights=False)
    before = lazy_parameters(module)
    file, elsewhere, calls = folder / "model.safetensors", folder / "elsewhere", 0

    def fail(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == at and at == PROBED:
            file.rename(elsewhere)
        elif calls == at:
            raise RuntimeError("no more")

    module.get_submodule("encoder.layer.1.output.dense").register_forward_pre_hook(fail)
    try:
        with pytest.raises(UserError, match=message):
            made(lazy, data, tmp_path, FEW)
    finally:
        if elsewhere.exists():
            elsewhere.rename(file)
    names = (synchronizer.THREAD_NAME, "bertviewer-corpus")
    assert not [t.name for t in threading.enumerate() if t.name.startswith(names)]
    assert [slot[1:] for slot in lazy_parameters(module)] == [slot[1:] for slot in before]
    assert not list((tmp_path / SHARDS_FOLDER).glob("*.shard"))
