"""Watches a model that runs batches of a corpus: adds what its modules give to a shard's sums."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from torch import Tensor, nn

from bertviewer.core.corpus.batches import Batch, Rows, classes_of
from bertviewer.core.corpus.layouts import Kind, Sizes
from bertviewer.core.corpus.measured import Measured
from bertviewer.core.corpus.rows import rows_of
from bertviewer.core.corpus.shard_files import COUNTED, Shard
from bertviewer.core.corpus.sums import HeadSums, RowSums, StateSums, kept_arrays
from bertviewer.core.errors import UserError
from bertviewer.core.flow.forwards import Arguments, Watch, watching
from bertviewer.core.flow.nested_tensors import tensors_in
from bertviewer.core.run.hidden_states import stacks_of
from bertviewer.core.run.recording import first_tensor


class ShardSums:
    """The sums of a shard while it runs."""

    def __init__(self, measured: Measured) -> None:
        self.counted: Counter[str] = Counter()
        self.rows = [
            RowSums.empty(len(classes_of(call.layout.kind)), call.layout.width)
            for call in measured.calls
        ]
        self.heads = [HeadSums.empty(attention.heads) for attention in measured.attentions]
        self.states = [StateSums.empty(measured.width) for _ in range(measured.states)]

    def shard(self) -> Shard:
        """Return what is kept of them."""
        return Shard(
            np.array([self.counted[name] for name in COUNTED], np.int64),
            *(tuple(map(kept_arrays, sums)) for sums in (self.rows, self.heads, self.states)),
        )


class Recorder:
    """Adds up the batches of several threads, each to the sums of its own shard."""

    def __init__(
        self, module: nn.Module, measured: Measured, check: Callable[[], None] = lambda: None
    ) -> None:
        """Take a model; ``check`` is called with each of its modules, and may stop it."""
        self._module = module
        self._check = check
        self._measured = measured
        self._own = threading.local()
        self._rows = {(call.path, call.number): place for place, call in enumerate(measured.calls)}
        self._heads = {
            (one.path, one.number): place for place, one in enumerate(measured.attentions)
        }

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the model inside the ``with``."""
        paths = {path for path, _ in (*self._rows, *self._heads)}
        modules = {path: inner for path, inner in self._module.named_modules() if path in paths}
        with watching(self._watch(path, inner) for path, inner in modules.items()):
            yield

    @contextmanager
    def adding(self, batch: Batch, sums: ShardSums) -> Iterator[None]:
        """Add what this thread runs inside the ``with`` to these sums."""
        self._own.batch, self._own.sums, self._own.called = batch, sums, Counter[str]()
        try:
            yield
        finally:
            del self._own.batch, self._own.sums, self._own.called

    def add_states(self, output: Any, batch: Batch, sums: ShardSums) -> None:
        """Add the hidden states that the model gave at last."""
        if not sums.states:
            return
        (states,) = stacks_of(output)
        for state, own in zip(states, sums.states, strict=True):
            own.add(_array(state), batch.lengths)

    def _watch(self, path: str, module: nn.Module) -> Watch:
        def see(_taken: Arguments, output: Any, _noted: None) -> None:
            if (batch := getattr(self._own, "batch", None)) is not None:
                self._check()
                number = self._own.called[path]
                self._own.called[path] += 1
                self._add(path, number, output, batch)

        return Watch(module, see)

    def _add(self, path: str, number: int, output: Any, batch: Batch) -> None:
        sums: ShardSums = self._own.sums
        if (place := self._rows.get((path, number))) is not None:
            layout = self._measured.calls[place].layout
            tensor = first_tensor(output)
            if tensor is None or not layout.fits(tuple(tensor.shape), _sizes(batch)):
                raise UserError(f"{path}: what it gives is of another shape in this batch")
            rows = _rows(batch, layout.kind)
            sums.rows[place].add(rows_of(tensor, layout).numpy(), rows.places, rows.starts)
        if (place := self._heads.get((path, number))) is not None:
            shares = tensors_in(output)[self._measured.attentions[place].place]
            sums.heads[place].add(_array(shares), batch.lengths, batch.is_cls, batch.is_sep)


def _sizes(batch: Batch) -> Sizes:
    return Sizes(*batch.ids.shape)


def _rows(batch: Batch, kind: Kind) -> Rows:
    if kind == "sentences":
        return batch.sentences
    return batch.tokens if kind == "tokens" else batch.positions


def _array(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()
