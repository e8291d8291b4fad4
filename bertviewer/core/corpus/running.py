"""Runs a model over a corpus, shard by shard, in the threads of this process.

torch's own threads are of no use here: how it shares a product out among them changes its last
bits. Each thread runs a shard of its own instead, and torch one thread for it, so that the same
shard has the same bytes wherever it runs. Processes of other ranks run other shards; none waits for
another, and nothing is exchanged but the shards' files.
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bertviewer.core.closer_look.eager import eager
from bertviewer.core.corpus.batches import Batch, ClassNames, batch_of, together
from bertviewer.core.corpus.plan import Plan
from bertviewer.core.corpus.recorder import Recorder, ShardSums
from bertviewer.core.corpus.shard_files import is_whole, shard_file, write_shard
from bertviewer.core.corpus.survey import sentences
from bertviewer.core.errors import Cancelled, UserError
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress
from bertviewer.core.run.big_bird_attention import SPARSE, choose_attention
from bertviewer.core.run.failures import as_user_error
from bertviewer.core.run.inputs import text_inputs
from bertviewer.core.source.configuration import position_limit
from bertviewer.core.tokenizer.token_ids import TokenIds

WINDOW = 1024
"""So many sentences of a shard are in memory; only these can be of one batch."""
_POLL = 0.1  # seconds from a wish to stop until it is noticed
_PADDING = ("pad_token_id", "eos_token_id")


@contextmanager
def step_by_step(module: nn.Module) -> Iterator[None]:
    """Have a model calculate attention so that it shows its shares, if it can do so."""
    with ExitStack() as stack:
        # Where it cannot, its heads are not measured.
        with suppress(ValueError, NotImplementedError, ImportError):
            stack.enter_context(eager(module))
        yield


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
    before = torch.get_num_threads()
    try:
        with step_by_step(work.module), work.recorder.watching():
            _in_threads(work, min(threads, len(todo)), total, progress)
    finally:
        torch.set_num_threads(before)


def _in_threads(work: "_Work", threads: int, total: int, progress: Progress) -> None:
    with ThreadPoolExecutor(threads, "bertviewer-corpus") as pool:
        try:
            running: set[Future[None]] = {pool.submit(work.run) for _ in range(threads)}
            while running:
                progress(work.done, total, f"Sentence {work.done:,} of {total:,}")
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
        self.done = done
        self._model, self._plan, self._folder, self._todo = model, plan, folder, todo
        self._config = model.architecture.config
        self._tokenizer = model.tokenizer()
        self._names = ClassNames(self._tokenizer)
        self._turn = threading.Lock()
        self._limit = token_limit(self._config, plan.choices.max_tokens)
        self._padding = _padding(self._config)

    def run(self) -> None:
        """Run shards until there are none; for one of the threads."""
        torch.set_num_threads(1)
        with torch.no_grad():
            while True:
                try:
                    shard = self._todo.popleft()
                except IndexError:
                    return
                write_shard(shard_file(self._folder, shard), self._sums_of(shard).shard())

    def _check(self) -> None:
        if self.stop.is_set():
            raise Cancelled

    def _sums_of(self, shard: int) -> ShardSums:
        plan = self._plan
        sums = ShardSums(plan.measured)
        texts = sentences(plan.data, plan.choices.column, *plan.range_of(shard))
        while window := list(islice(texts, WINDOW)):
            tokens = self._tokens(window, sums)
            sums.counted["sentences"] += len(tokens)
            sums.counted["unread"] += len(window) - len(tokens)
            self._add_done(len(window) - len(tokens))
            is_even = not plan.measured.hides_padding
            for places in together(tokens, plan.choices, equal_lengths=is_even):
                chosen = [tokens[place] for place in places]
                self._run_batch(batch_of(chosen, self._names, self._padding), sums)
                self._add_done(len(places))
        return sums

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
            is_long = self._limit is not None and len(tokens) > self._limit
            sums.counted["cut"] += is_long
            found.append(tokens.cut(self._limit) if is_long and self._limit else tokens)
        sums.counted["tokens"] += sum(map(len, found))
        return found

    def _run_batch(self, batch: Batch, sums: ShardSums) -> None:
        self._check()
        sums.counted["batches"] += 1
        problem = f"{self._model.source.name}: the model cannot run these sentences"
        with as_user_error(self.module, problem), self.recorder.adding(batch, sums):
            self.recorder.add_states(called(self.module, batch, self._config), batch, sums)


def called(module: nn.Module, batch: Batch, config: Any) -> Any:
    """Return what a model gives for a batch."""
    device = next(module.parameters()).device
    ids, mask, segments = (
        torch.from_numpy(array).to(device) for array in (batch.ids, batch.mask, batch.segments)
    )
    return module(**text_inputs(module, ids, mask, segments, config))


def settle_attention(module: nn.Module, config: Any, max_tokens: int | None) -> None:
    """Have a model that reads short and long sentences in two ways read all of them in one.

    Raises:
        UserError: some may be too long for that.
    """
    longest = token_limit(config, max_tokens)
    if longest is None:
        return
    choose_attention(module, {"input_ids": torch.empty(1, longest)})
    if any(getattr(inner, "attention_type", "") == SPARSE for inner in module.modules()):
        raise UserError(
            f"{type(module).__name__} reads sentences of {longest:,} tokens in another way than "
            "short ones; choose fewer with --max-tokens"
        )


def token_limit(config: Any, wanted: int | None) -> int | None:
    """Return how many tokens of a sentence are run, ``None`` for all."""
    limits = [limit for limit in (position_limit(config), wanted) if limit is not None]
    return min(limits, default=None)


def _padding(config: Any) -> int:
    """Return the token that stands behind a shorter sentence: one that has a row."""
    rows = config.get("vocab_size")
    for key in _PADDING:
        number = config.get(key)
        if isinstance(number, int) and number >= 0 and (not isinstance(rows, int) or number < rows):
            return number
    return 0
