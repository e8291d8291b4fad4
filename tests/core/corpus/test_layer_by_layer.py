"""A corpus of a model that is read layer by layer is that of the model in memory, to the byte."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from torch import Tensor, nn

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
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.corpus.making_corpora import content, made
from tests.core.loading import saved_models

FEW = CorpusOptions(limit=24, batch_size=3, shards=3)
"""Eight batches, of three shards."""
UNITS = ("embeddings", "encoder.layer.0", "encoder.layer.1")


@pytest.fixture
def absent(folder: Path) -> LoadedModel:
    return open_model(replace(parse_source(str(folder)), offload=True))


@pytest.fixture
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the batches of all shards in one group."""
    monkeypatch.setattr(synchronizer.LayerSynchronizer, "largest", 10**9)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often each tensor is read from the file, which grows."""
    times: Counter[str] = Counter()

    def noted(
        tensors: Sequence[StoredTensor], progress: Progress
    ) -> Iterator[tuple[StoredTensor, Tensor]]:
        times.update(tensor.name for tensor in tensors)
        return read_each(tensors, progress)

    monkeypatch.setattr("bertviewer.core.loading.lazy_parameter.read_each", noted)
    return times


@pytest.mark.usefixtures("roomy")
@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("bert", "masked-lm"),  # a tied head
        ("albert", "base"),  # one layer, called again and again
        ("gpt2", "base"),
        ("t5", "base"),  # two stacks, one table
        ("bart", "base"),
        ("squeezebert", "base"),  # layers whose forward is called by itself
        ("mixtral", "base"),
    ],
)
def test_the_bytes_are_those_of_the_whole_model(
    family: str, task: str, data: Path, tmp_path: Path
) -> None:
    saved_models.save(tmp_path / "model", family, task)
    choices = replace(FEW, max_tokens=20)
    both = []
    for offload in (True, False):
        model = saved_models.opened(tmp_path / "model", family, task, offload=offload)
        made(model, data, tmp_path / f"{offload}", choices)
        assert bool(lazy_parameters(model.running_module)) is offload
        both.append(content(tmp_path / f"{offload}"))
    assert both[0] == both[1]


@pytest.mark.usefixtures("roomy")
def test_a_layer_is_read_once_for_a_group(
    absent: LoadedModel, data: Path, tmp_path: Path, read: Counter[str]
) -> None:
    made(absent, data, tmp_path, FEW)
    # Once for the small batches that tell what there is to measure, once for all of the sentences.
    assert set(read.values()) == {2}
    assert {name.rpartition(".layer.")[2][0] for name in read if ".layer." in name} == {"0", "1"}


def test_a_group_keeps_no_more_than_the_largest_layer(
    absent: LoadedModel, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[tuple[int, int]] = []
    grouped = running.grouped

    def noted(*given: Any) -> Iterator[list[running.Item]]:
        for group in grouped(*given):
            kept = sum(item.kept for item in group)
            sizes.append((sum(item.batch is not None for item in group), kept))
            assert len({item.shard for item in group}) == 1  # sums are larger than any layer
            yield group

    monkeypatch.setattr("bertviewer.core.corpus.running.grouped", noted)
    made(absent, data, tmp_path, replace(FEW, limit=60, batch_size=1))
    largest = synchronizer.LayerSynchronizer(
        absent.running_module, absent.offload_state, lambda: None
    ).largest
    assert largest == max(
        sum(
            weight.nbytes
            for _, _, weight in lazy_parameters(absent.running_module.get_submodule(unit))
        )
        for unit in UNITS
    )
    assert all(kept <= largest for count, kept in sizes if count > 1)
    assert max(count for count, _ in sizes) > 1


def test_a_run_goes_on_with_and_without(
    absent: LoadedModel, model: LoadedModel, data: Path, tmp_path: Path
) -> None:
    made(model, data, tmp_path / "whole", FEW)
    for first, second, folder in ((model, absent, "a"), (absent, model, "b")):
        made(first, data, tmp_path / folder, FEW, process=Process(1, 2))
        assert len(list((tmp_path / folder / SHARDS_FOLDER).glob("*.shard"))) == 1
        made(second, data, tmp_path / folder, FEW)
        assert content(tmp_path / folder) == content(tmp_path / "whole")


def left_behind() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [
        name for name in names if name.startswith((synchronizer.THREAD_NAME, "bertviewer-corpus"))
    ]


Ending = Callable[..., None]
"""Runs a corpus that is to end before it is done, and sees what is left."""


def failing(module: nn.Module, fail: Callable[[int], None]) -> None:
    """Have a module call this with the number of the call before each."""
    calls = 0

    def hook(*_: Any) -> None:
        nonlocal calls
        calls += 1
        fail(calls)

    module.register_forward_pre_hook(hook)


@pytest.mark.usefixtures("roomy")
class TestWhatEndsOne:
    """It ends all of a group, and gives the weights back."""

    @pytest.fixture
    def ending(self, absent: LoadedModel, data: Path, tmp_path: Path) -> Ending:
        def run(fail: Callable[[int], None], progress: Progress = no_progress) -> None:
            module = absent.module(random_weights=False)
            before = lazy_parameters(module)
            failing(module.get_submodule("encoder.layer.1.output.dense"), fail)
            try:
                made(absent, data, tmp_path, FEW, progress=progress)
            finally:
                assert left_behind() == []
                after = lazy_parameters(module)
                assert [slot[1:] for slot in after] == [slot[1:] for slot in before]

        return run

    def test_an_error_of_the_model(self, ending: Ending, tmp_path: Path) -> None:
        def fail(call: int) -> None:
            if call == 9:  # four are of the small batches
                raise RuntimeError("no more")

        with pytest.raises(UserError, match=r"the model cannot run these sentences: .*no more"):
            ending(fail)
        assert not list((tmp_path / SHARDS_FOLDER).glob("*.shard"))

    def test_an_error_in_the_first_batches(self, ending: Ending) -> None:
        def fail(call: int) -> None:
            raise RuntimeError("never")

        with pytest.raises(UserError, match=r"the model cannot run a batch: .*never"):
            ending(fail)

    @pytest.mark.parametrize("at", [2, 6])
    def test_a_wish_to_stop(self, ending: Ending, at: int) -> None:
        calls = 0

        def note(call: int) -> None:
            nonlocal calls
            calls = call
            while calls == at > 4:  # until it is noticed
                time.sleep(0.001)

        def progress(done: int, total: int, label: str) -> None:
            nonlocal calls
            if calls == at:
                calls = 0
                raise Cancelled

        with pytest.raises(Cancelled):
            ending(note, progress)

    def test_a_file_that_is_gone(self, ending: Ending, folder: Path) -> None:
        file, aside = folder / "model.safetensors", folder / "aside"

        def fail(call: int) -> None:
            if call == 4:
                file.rename(aside)

        try:
            with pytest.raises(UserError, match=r"model\.safetensors: No such file"):
                ending(fail)
        finally:
            aside.rename(file)
