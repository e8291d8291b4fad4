"""Running a model over the shards of a plan, in the threads of this process.

How torch splits a product among its threads changes the last bits. So each thread runs a shard of
its own with one torch thread, and the same shard has the same bytes wherever it runs. Processes of
other ranks run other shards; they exchange nothing but files.

A model that is loaded layer by layer is run by one thread, many batches at once
(``LayerSynchronizer``): its layers are read once for a group of batches. As all batches call its
modules in one order, each module's rows are added batch after batch, as for a model in memory: the
bytes are the same.
"""

import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from msgspec import Struct

from bertviewer.core.analysis.layers import layer_paths
from bertviewer.core.corpus.batches import (
    Batch,
    TokenClassifier,
    batch_of,
    batched,
    padding_of,
    token_limit,
)
from bertviewer.core.corpus.data_files import sentences
from bertviewer.core.corpus.measurement_spec import MeasurementSpec
from bertviewer.core.corpus.plan import Plan
from bertviewer.core.corpus.recorder import BatchRecorder, showing_attention
from bertviewer.core.corpus.shards import ShardSums, is_complete, shard_file, write_shard
from bertviewer.core.loading.layer_synchronizer import LayerSynchronizer
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.tokenization.tokenization import check_segments, reads_target, shift_ids_right
from bertviewer.core.tokenization.tokens import TokenIds
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import Progress

WINDOW = 1024
"""Sentences of a shard in memory, from which batches are formed."""
MAX_BATCHES = 64
"""Maximum number of batches in a group: each has a thread."""
_POLL = 0.1  # seconds until a cancellation is noticed
_FLOAT = 4


class Item(Struct, frozen=True, eq=False):
    """A batch of a shard, or the end of the shard.

    Attributes:
        shard: number of the shard.
        sums: sums of the shard.
        batch: the batch, ``None`` at the end.
        kept: bytes that the batch keeps between two layers.
    """

    shard: int
    sums: ShardSums
    batch: Batch | None
    kept: int


def grouped(items: Iterable[Item], room: int) -> Iterator[list[Item]]:
    """Yield groups of items that are run together; single items if ``room`` is 0.

    What a group keeps between two layers, and the sums of all its shards but one, fit into
    ``room`` bytes: the size of the largest layer. Together with the weights that are read this is
    twice the largest layer. A larger batch forms its own group.
    """
    group: list[Item] = []
    for item in items:
        shards = len({one.shard for one in (*group, item)})
        kept = sum(one.kept for one in (*group, item)) + (shards - 1) * item.sums.nbytes
        if group and kept > room:
            yield group
            group = []
        group.append(item)
        if not room or len(group) == MAX_BATCHES:
            yield group
            group = []
    if group:
        yield group


def kept_bytes(batch: Batch, measured: MeasurementSpec, layers: Collection[str]) -> int:
    """Estimate the bytes that a batch keeps between two layers.

    Those are a hidden state and its input, of both stacks, a mask, and all hidden states where the
    model has to return them.
    """
    sentences, tokens = map(int, batch.mask.shape)
    widths = [call.layout.width for call in measured.calls if call.path in layers]
    width = max((measured.width, *widths))
    states = 2 if batch.target is None else 4
    if None in measured.state_calls:
        states += measured.states
    return sentences * tokens * _FLOAT * (states * width + tokens)


def run_shards(
    model: LoadedModel,
    plan: Plan,
    folder: Path,
    shards: Iterable[int],
    progress: Progress,
    *,
    threads: int,
) -> None:
    """Run the shards that are missing; the model's weights are loaded.

    Raises:
        UserError: a data file is gone, the model fails, or a shard cannot be written.
        Cancelled: by ``progress``; finished shards are kept.
    """
    missing, done = deque[int](), 0
    for shard in shards:
        if is_complete(shard_file(folder, shard)):
            first, last = plan.range_of(shard)
            done += last - first
        else:
            missing.append(shard)
    if not missing:
        return
    total = done + sum(last - first for first, last in map(plan.range_of, missing))
    work = _Work(model, plan, folder, missing, done)
    if model.offload_state is not None:
        threads = 1
    before = torch.get_num_threads()
    try:
        config, is_eager = model.architecture.config, plan.measured.is_eager
        with (
            showing_attention(work.module, config, is_eager=is_eager),
            work.recorder.watching(),
        ):
            _run_in_threads(work, min(threads, len(missing)), total, progress)
    finally:
        torch.set_num_threads(before)


def _run_in_threads(work: "_Work", threads: int, total: int, progress: Progress) -> None:
    with ThreadPoolExecutor(threads, "bertviewer-corpus") as pool:
        try:
            running: set[Future[None]] = {pool.submit(work.run) for _ in range(threads)}
            while running:
                where = f", {work.synchronizer.unit}" if work.synchronizer.unit else ""
                progress(work.done, total, f"Sentence {work.done:,} of {total:,}{where}")
                ended, running = wait(running, _POLL, FIRST_EXCEPTION)
                for one in ended:
                    one.result()
        except BaseException:
            work.stop.set()
            raise


class _Work:
    """The missing shards, and the state that all threads share."""

    def __init__(
        self, model: LoadedModel, plan: Plan, folder: Path, missing: deque[int], done: int
    ) -> None:
        self.module = model.running_module
        self.stop = threading.Event()
        self.recorder = BatchRecorder(self.module, plan.measured, self._check)
        self.synchronizer = LayerSynchronizer(self.module, model.offload_state, self._check)
        self.done = done
        self._model, self._plan, self._folder, self._missing = model, plan, folder, missing
        self._config = model.architecture.config
        self._has_target = reads_target(model.architecture)
        self._layers = layer_paths(model.architecture)
        self._tokenizer = model.tokenizer()
        self._classifier = TokenClassifier(self._tokenizer)
        self._lock = threading.Lock()
        self._limit = token_limit(model.architecture.whole_config, plan.options.max_tokens)
        self._padding = padding_of(self._config)

    def run(self) -> None:
        """Run shards until none is missing, in one of the threads."""
        torch.set_num_threads(1)
        with torch.no_grad():
            for group in grouped(self._items(), self.synchronizer.largest):
                runs = [
                    partial(self._run_batch, item.batch, item.sums)
                    for item in group
                    if item.batch is not None
                ]
                self.synchronizer.run(runs)
                for item in group:
                    if item.batch is None:
                        write_shard(shard_file(self._folder, item.shard), item.sums.shard())

    def _check(self) -> None:
        if self.stop.is_set():
            raise Cancelled

    def _items(self) -> Iterator[Item]:
        """Yield the batches of the shards that this thread takes, and the end of each shard."""
        while self._missing:
            try:
                shard = self._missing.popleft()
            except IndexError:  # another thread took the last one
                return
            sums = ShardSums(self._plan.measured)
            for batch in self._batches(shard, sums):
                kept = kept_bytes(batch, self._plan.measured, self._layers)
                yield Item(shard, sums, batch, kept)
            yield Item(shard, sums, None, 0)

    def _batches(self, shard: int, sums: ShardSums) -> Iterator[Batch]:
        plan = self._plan
        span = plan.range_of(shard)
        texts = sentences(plan.data, plan.options.column, *span, lambda *_: self._check())
        while window := list(islice(texts, WINDOW)):
            tokens = self._tokenize(window, sums)
            sums.counted["sentences"] += len(tokens)
            sums.counted["unread"] += len(window) - len(tokens)
            self._add_done(len(window) - len(tokens))
            equal_lengths = not plan.measured.hides_padding
            for places in batched(tokens, plan.options, equal_lengths=equal_lengths):
                chosen = [tokens[place] for place in places]
                targets = None
                if self._has_target:
                    targets = [shift_ids_right(one, self._config) for one in chosen]
                yield batch_of(chosen, self._classifier, self._padding, targets)

    def _add_done(self, count: int) -> None:
        with self._lock:
            self.done += count

    def _tokenize(self, texts: list[str], sums: ShardSums) -> list[TokenIds]:
        with self._lock:
            read = self._tokenizer.encode_each(texts, lambda *_: self._check())
        found: list[TokenIds] = []
        rows = self._config.get("vocab_size")
        for tokens in read:
            if isinstance(tokens, str) or not len(tokens):
                continue
            if isinstance(rows, int) and not 0 <= min(tokens.ids) <= max(tokens.ids) < rows:
                raise UserError(
                    f"a token has the id {max(tokens.ids)}, but the embedding has only {rows:,} "
                    "rows; the tokenizer belongs to another model"
                )
            check_segments(tokens.segments, self._config)
            try:
                found.append(tokens.cut(self._limit, keeps_end=self._tokenizer.keeps_end))
            except UserError:
                continue  # too many special tokens; counted as unread
            sums.counted["cut"] += len(tokens) > self._limit
        sums.counted["tokens"] += sum(map(len, found))
        return found

    def _run_batch(self, batch: Batch, sums: ShardSums) -> None:
        self._check()
        problem = f"{self._model.source.name}: the model cannot run these sentences"
        with as_user_error(self.module, problem):
            self.recorder.run(batch, sums, self._config)
        sums.counted["batches"] += 1
        self._add_done(len(batch.lengths))
