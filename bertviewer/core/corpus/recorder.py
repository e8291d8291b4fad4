"""Watches a model that runs batches of a corpus: adds what its modules give to a shard's sums."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from torch import Tensor, nn

from bertviewer.core.corpus.batches import Batch, Rows
from bertviewer.core.corpus.layouts import Sizes
from bertviewer.core.corpus.measured import Call, Measured
from bertviewer.core.corpus.rows import rows_of
from bertviewer.core.corpus.shard_files import COUNTED, Shard
from bertviewer.core.corpus.sums import HeadSums, RowSums, StateSums, Sums, arrays_of, kept_arrays
from bertviewer.core.corpus.texts import Texts, asked_for_shares, called
from bertviewer.core.graph.forwards import Arguments, Watch, watching
from bertviewer.core.graph.nested_tensors import tensors_in
from bertviewer.core.runs.hidden_states import stacks_of
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.util.errors import UserError


class ShardSums:
    """The sums of a shard while it runs.

    Attributes:
        counted: how much of what ``COUNTED`` names.
        rows: by measured call.
        heads: by attention.
        states: by hidden state.
        nbytes: of all of them.
    """

    def __init__(self, measured: Measured) -> None:
        self.counted: Counter[str] = Counter()
        self.rows = [RowSums.empty(len(call.classes), call.layout.width) for call in measured.calls]
        self.heads = [HeadSums.empty(attention.heads) for attention in measured.attentions]
        self.states = [StateSums.empty(measured.width) for _ in range(measured.states)]
        every: list[Sums] = [*self.rows, *self.heads, *self.states]
        self.nbytes = sum(a.nbytes for sums in every for a in arrays_of(sums).values())

    def shard(self) -> Shard:
        """Return what is kept of them."""
        return Shard(
            np.array([self.counted[name] for name in COUNTED], np.int64),
            *(tuple(map(kept_arrays, sums)) for sums in (self.rows, self.heads, self.states)),
        )


class Recorder:
    """Adds up the batches of several threads, each to the sums of its own shard.

    Hidden states are added when a module gives them. Only where one comes from no module that is
    measured, the model is asked for all of them, and keeps them to its end.
    """

    def __init__(
        self, module: nn.Module, measured: Measured, check: Callable[[], None] = lambda: None
    ) -> None:
        """Take a model; ``check`` is called with each of its modules, and may stop it."""
        self.needs_states = None in measured.state_calls
        self._module = module
        self._check = check
        self._measured = measured
        self._own = threading.local()
        self._rows = {(call.path, call.number): place for place, call in enumerate(measured.calls)}
        self._heads = {
            (one.path, one.number): place for place, one in enumerate(measured.attentions)
        }
        self._states: dict[int, list[int]] = {}
        if not self.needs_states:
            for state, place in enumerate(measured.state_calls):
                self._states.setdefault(place or 0, []).append(state)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the model inside the ``with``."""
        paths = {path for path, _ in (*self._rows, *self._heads)}
        modules = {path: inner for path, inner in self._module.named_modules() if path in paths}
        asked = {one.path: modules[one.path] for one in self._measured.attentions if one.is_asked}
        with (
            asked_for_shares(asked.values()),
            watching(self._watch(path, inner) for path, inner in modules.items()),
        ):
            yield

    def run(self, batch: Batch, sums: ShardSums, config: Mapping[str, Any]) -> None:
        """Run a batch through the model, which is watched, and add it to these sums."""
        self._own.batch, self._own.sums, self._own.called = batch, sums, Counter[str]()
        texts = Texts(
            batch.source.ids,
            batch.mask,
            batch.segments,
            None if batch.target is None else batch.target.ids,
        )
        try:
            output = called(self._module, texts, config, gives_states=self.needs_states)
            if self.needs_states:
                states = [state for stack in stacks_of(output) for state in stack]
                for state, own in zip(states, sums.states, strict=True):
                    own.add(_array(state), batch.lengths)
        finally:
            del self._own.batch, self._own.sums, self._own.called

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
            call = self._measured.calls[place]
            tensor = first_tensor(output)
            if tensor is None or not call.layout.fits(tuple(tensor.shape), _sizes(batch)):
                raise UserError(f"{path}: its output has a different shape in this batch")
            rows = _rows(batch, call)
            sums.rows[place].add(rows_of(tensor, call.layout).numpy(), rows.places, rows.starts)
            for state in self._states.get(place, ()):
                sums.states[state].add(_array(tensor), batch.lengths)
        if (place := self._heads.get((path, number))) is not None:
            attention = self._measured.attentions[place]
            keys = batch.side(is_target=attention.is_target and not attention.is_cross)
            shares = tensors_in(output)[attention.place].permute(attention.axes)
            sums.heads[place].add(_array(shares), batch.lengths, keys.is_cls, keys.is_sep)


def _sizes(batch: Batch) -> Sizes:
    return Sizes(*batch.mask.shape)


def _rows(batch: Batch, call: Call) -> Rows:
    if call.layout.kind == "sentences":
        return batch.sentences
    side = batch.side(is_target=call.is_target)
    return side.tokens if call.layout.kind == "tokens" else side.positions


def _array(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()
