"""A corpus of a model that is loaded layer by layer has the bytes of the model in memory."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
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
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.corpus.making_corpora import content, made
from tests.core.loading import saved_models

FEW = CorpusOptions(limit=24, batch_size=3, shards=3)
"""Eight batches in three shards."""
UNITS = ("embeddings", "encoder.layer.0", "encoder.layer.1")


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


def test_a_group_keeps_no_more_than_the_largest_layer(
    lazy: LoadedModel, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[tuple[int, int]] = []
    grouped = running.grouped

    def noted(*arguments: Any) -> Iterator[list[running.Item]]:
        for group in grouped(*arguments):
            kept = sum(item.kept for item in group)
            sizes.append((sum(item.batch is not None for item in group), kept))
            assert len({item.shard for item in group}) == 1  # sums are larger than any layer
            yield group

    monkeypatch.setattr(running, "grouped", noted)
    made(lazy, data, tmp_path, replace(FEW, limit=60, batch_size=1))
    module = lazy.running_module
    largest = synchronizer.LayerSynchronizer(module, lazy.offload_state, lambda: None).largest
    assert largest == max(
        sum(weight.nbytes for _, _, weight in lazy_parameters(module.get_submodule(unit)))
        for unit in UNITS
    )
    assert all(kept <= largest for count, kept in sizes if count > 1)
    assert max(count for count, _ in sizes) > 1


def test_a_run_is_continued_with_and_without(
    lazy: LoadedModel, model: LoadedModel, data: Path, tmp_path: Path
) -> None:
    made(model, data, tmp_path / "whole", FEW)
    for first, second, folder in ((model, lazy, "a"), (lazy, model, "b")):
        made(first, data, tmp_path / folder, FEW, process=Process(1, 2))
        assert len(list((tmp_path / folder / SHARDS_FOLDER).glob("*.shard"))) == 1
        made(second, data, tmp_path / folder, FEW)
        assert content(tmp_path / folder) == content(tmp_path / "whole")


MakeUntil = Callable[..., None]
"""Makes a corpus; calls its argument with the number of each call of a layer's module."""


@pytest.fixture
def make_until(lazy: LoadedModel, data: Path, tmp_path: Path, one_group: None) -> MakeUntil:
    def make(before_call: Callable[[int], None], progress: Progress = no_progress) -> None:
        module = lazy.module(random_weights=False)
        before = lazy_parameters(module)
        calls = 0

        def hook(*_: Any) -> None:
            nonlocal calls
            calls += 1
            before_call(calls)

        module.get_submodule("encoder.layer.1.output.dense").register_forward_pre_hook(hook)
        try:
            made(lazy, data, tmp_path, FEW, progress=progress)
        finally:
            # All batches of the group ended, and the weights are unloaded.
            names = (synchronizer.THREAD_NAME, "bertviewer-corpus")
            assert not [t.name for t in threading.enumerate() if t.name.startswith(names)]
            assert [slot[1:] for slot in lazy_parameters(module)] == [slot[1:] for slot in before]

    return make


PROBED = 4
"""Calls of each module in the probe."""


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (PROBED + 5, r"the model cannot run these sentences: .*no more"),
        (1, r"the model cannot run a batch: .*no more"),
    ],
)
def test_a_model_that_fails(make_until: MakeUntil, at: int, message: str, tmp_path: Path) -> None:
    def fail(call: int) -> None:
        if call == at:
            raise RuntimeError("no more")

    with pytest.raises(UserError, match=message):
        make_until(fail)
    assert not list((tmp_path / SHARDS_FOLDER).glob("*.shard"))


def test_a_file_that_vanishes(make_until: MakeUntil, folder: Path) -> None:
    file, elsewhere = folder / "model.safetensors", folder / "elsewhere"

    def move(call: int) -> None:
        if call == PROBED:
            file.rename(elsewhere)

    try:
        with pytest.raises(UserError, match=r"model\.safetensors: No such file"):
            make_until(move)
    finally:
        elsewhere.rename(file)
