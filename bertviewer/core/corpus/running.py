"""Runs a model over a corpus, shard by shard, in the threads of this process.

torch's own threads are of no use here: how it shares a product out among them changes its last
bits. Each thread runs a shard of its own instead, and torch one thread for it, so that the same
shard has the same bytes wherever it runs. Processes of other ranks run other shards; none waits for
another, and nothing is exchanged but the shards' files.

A model that is read layer by layer is run by one thread, many batches side by side (``Lockstep``).
As all batches call its modules in one order, each module's rows are added batch after batch, as
they are of a model in memory: the bytes are the same.
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from bertviewer.core.analysis.layers import layer_paths
from bertviewer.core.corpus.batches import Batch, ClassNames, batch_of, together
from bertviewer.core.corpus.groups import Item, grouped, kept_bytes
from bertviewer.core.corpus.plan import Plan
from bertviewer.core.corpus.recorder import Recorder, ShardSums
from bertviewer.core.corpus.shard_files import is_whole, shard_file, write_shard
from bertviewer.core.corpus.survey import sentences
from bertviewer.core.corpus.texts import padding_of, step_by_step, token_limit
from bertviewer.core.loading.layer_synchronizer import Lockstep
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.tokenization.tokenization import check_segments, reads_target, shift_ids_right
from bertviewer.core.tokenization.tokens import TokenIds
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import Progress

WINDOW = 1024
"""So many sentences of a shard are in memory; only these can be of one batch."""
_POLL = 0.1  # seconds from a wish to stop until it is noticed


def run_shards(
    model: LoadedModel,
    plan: Plan,
    folder: Path,
    shards: Iterable[int],
    progress: Progress,
    *,
    threads: int,
) -> None:
    """Run those of the shards that are not there yet; the model has its weights.

    Raises:
        UserError: a file of the data is gone, the model fails, or a shard cannot be written.
        Cancelled: by ``progress``; what is finished by then stays.
    """
    todo, done = deque[int](), 0
    for shard in shards:
        if is_whole(shard_file(folder, shard)):
            first, last = plan.range_of(shard)
            done += last - first
        else:
            todo.append(shard)
    if not todo:
        return
    total = done + sum(last - first for first, last in map(plan.range_of, todo))
    work = _Work(model, plan, folder, todo, done)
    if model.reading is not None:
        threads = 1
    before = torch.get_num_threads()
    try:
        config, is_eager = model.architecture.config, plan.measured.is_eager
        with (
            step_by_step(work.module, config, is_eager=is_eager),
            work.recorder.watching(),
        ):
            _in_threads(work, min(threads, len(todo)), total, progress)
    finally:
        torch.set_num_threads(before)


def _in_threads(work: "_Work", threads: int, total: int, progress: Progress) -> None:
    with ThreadPoolExecutor(threads, "bertviewer-corpus") as pool:
        try:
            running: set[Future[None]] = {pool.submit(work.run) for _ in range(threads)}
            while running:
                where = f", {work.lockstep.unit}" if work.lockstep.unit else ""
                progress(work.done, total, f"Sentence {work.done:,} of {total:,}{where}")
                ended, running = wait(running, _POLL, FIRST_EXCEPTION)
                for one in ended:
                    one.result()
        except BaseException:
            work.stop.set()
            raise


class _Work:
    """The shards that are still to be run, and what all threads have in common."""

    def __init__(
        self, model: LoadedModel, plan: Plan, folder: Path, todo: deque[int], done: int
    ) -> None:
        self.module = model.running_module
        self.stop = threading.Event()
        self.recorder = Recorder(self.module, plan.measured, self._check)
        self.lockstep = Lockstep(self.module, model.reading, self._check)
        self.done = done
        self._model, self._plan, self._folder, self._todo = model, plan, folder, todo
        self._config = model.architecture.config
        self._has_target = reads_target(model.architecture)
        self._layers = layer_paths(model.architecture)
        self._tokenizer = model.tokenizer()
        self._names = ClassNames(self._tokenizer)
        self._turn = threading.Lock()
        self._limit = token_limit(model.architecture.whole_config, plan.choices.max_tokens)
        self._padding = padding_of(self._config)

    def run(self) -> None:
        """Run shards until there are none; for one of the threads."""
        torch.set_num_threads(1)
        with torch.no_grad():
            for group in grouped(self._items(), self.lockstep.largest):
                runs = [
                    partial(self._run_batch, item.batch, item.sums)
                    for item in group
                    if item.batch is not None
                ]
                self.lockstep.run(runs)
                for item in group:
                    if item.batch is None:
                        write_shard(shard_file(self._folder, item.shard), item.sums.shard())

    def _check(self) -> None:
        if self.stop.is_set():
            raise Cancelled

    def _items(self) -> Iterator[Item]:
        """Yield the batches of the shards that this thread takes, and the end of each shard."""
        while self._todo:
            try:
                shard = self._todo.popleft()
            except IndexError:
                return
            sums = ShardSums(self._plan.measured)
            for batch in self._batches(shard, sums):
                kept = kept_bytes(batch, self._plan.measured, self._layers)
                yield Item(shard, sums, batch, kept)
            yield Item(shard, sums, None, 0)

    def _batches(self, shard: int, sums: ShardSums) -> Iterator[Batch]:
        plan = self._plan
        span = plan.range_of(shard)
        texts = sentences(plan.data, plan.choices.column, *span, lambda *_: self._check())
        while window := list(islice(texts, WINDOW)):
            tokens = self._tokens(window, sums)
            sums.counted["sentences"] += len(tokens)
            sums.counted["unread"] += len(window) - len(tokens)
            self._add_done(len(window) - len(tokens))
            is_even = not plan.measured.hides_padding
            for places in together(tokens, plan.choices, equal_lengths=is_even):
                chosen = [tokens[place] for place in places]
                targets = None
                if self._has_target:
                    targets = [shift_ids_right(one, self._config) for one in chosen]
                yield batch_of(chosen, self._names, self._padding, targets)

    def _add_done(self, count: int) -> None:
        with self._turn:
            self.done += count

    def _tokens(self, texts: list[str], sums: ShardSums) -> list[TokenIds]:
        with self._turn:
            read = self._tokenizer.ids_of(texts, lambda *_: self._check())
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
                continue  # all that can be left out of it is too little
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
