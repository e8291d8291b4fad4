"""What a corpus costs: against the bare forward passes of the same batches, and by process."""

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bertviewer.core.corpus import making
from bertviewer.core.corpus.batches import (
    Batch,
    BatchIds,
    TokenClassifier,
    batch_of,
    batched,
    run_batch,
)
from bertviewer.core.corpus.making import CorpusRequest, Process, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.probe import probe
from bertviewer.core.corpus.recorder import BatchRecorder, showing_attention
from bertviewer.core.corpus.shards import ShardSums
from bertviewer.core.loading.layer_synchronizer import LayerSynchronizer
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from tests.conftest import TINY_WORDS, write_tiny_bert
from tests.tools.resident_memory import resident_memory

SENTENCES = 1000
MANY = 10_000
ALONE = 150
ROUNDS = 3
LENGTHS = (5, 8, 12, 18, 25, 40)
_SHARDS = 8


def corpus() -> dict[str, float]:
    """Run 1,000 sentences of the demo, from 7 to 42 tokens, one torch thread to a shard.

    Returns:
        ``ratio``: what a corpus takes of a batch over the bare forward pass of the same batch, as
        the model calculates attention step by step in both; ``ratio, fused``: over that of the
        model as it comes, whose attention shows nothing. Sentences per second, data and result
        files included: of one process with one and two threads, of two processes, and with each
        sentence alone. Memory of the process, in MB: what 10,000 sentences of a BERT of two layers
        add to the first 2,000.
    """
    with tempfile.TemporaryDirectory(prefix="corpus-benchmark-") as place:
        folder = Path(place)
        data = _write(folder / "lines.txt", SENTENCES)
        model = open_model(parse_source("demo"))
        model.module(random_weights=False)
        return {
            **_ratios(model, data.read_text(encoding="utf-8").splitlines()),
            "per second, 1 thread": SENTENCES / _seconds(model, data, folder / "1", threads=1),
            "per second, 2 threads": SENTENCES / _seconds(model, data, folder / "2", threads=2),
            "per second, 2 processes": SENTENCES / _two_processes(data, folder / "two"),
            "per second, batch 1": ALONE
            / _seconds(
                model,
                data,
                folder / "alone",
                threads=1,
                choices=CorpusOptions(limit=ALONE, batch_size=1),
            ),
            "memory added": _memory(folder),
        }


def _write(file: Path, count: int) -> Path:
    chance = random.Random(1)
    lines = (" ".join(chance.choices(TINY_WORDS, k=chance.choice(LENGTHS))) for _ in range(count))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _ratios(model: LoadedModel, texts: list[str]) -> dict[str, float]:
    module = model.running_module
    config = model.architecture.config
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        tokens = [one for one in model.tokenizer().encode_each(texts) if not isinstance(one, str)]
        names = TokenClassifier(model.tokenizer())
        batches = [
            batch_of([tokens[place] for place in places], names, 0)
            for places in batched(tokens, CorpusOptions())
        ]
        bare = [partial(_bare, module, batch, config) for batch in batches]
        fused = sum(map(_median, bare))
        with showing_attention(module, config), torch.no_grad():
            synchronizer = LayerSynchronizer(module, None, lambda: None)
            measured = probe(module, model.architecture, "*", synchronizer)
            recorder, sums = BatchRecorder(module, measured), ShardSums(measured)
            alone = sum(map(_median, bare))
            with recorder.watching():
                watched = sum(_median(partial(recorder.run, one, sums, config)) for one in batches)
    finally:
        torch.set_num_threads(threads)
    return {"ratio": watched / alone, "ratio, fused": watched / fused}


def _bare(module: nn.Module, batch: Batch, config: Mapping[str, Any]) -> object:
    texts = BatchIds(batch.source.ids, batch.mask, batch.segments)
    return run_batch(module, texts, config, with_states=False)


def _median(work: Callable[[], object]) -> float:
    times = []
    with torch.no_grad():
        for _ in range(ROUNDS):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return statistics.median(times)


def _seconds(
    model: LoadedModel,
    data: Path,
    folder: Path,
    *,
    threads: int,
    choices: CorpusOptions = CorpusOptions(shards=_SHARDS),  # noqa: B008 - it is frozen
) -> float:
    start = time.perf_counter()
    make_corpus(
        model, CorpusRequest((data,), choices, folder, ""), no_progress, Process(threads=threads)
    )
    return time.perf_counter() - start


_PROCESS = """
import sys, time
from pathlib import Path
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.making import CorpusRequest, Process, make_corpus
from bertviewer.core.loading.layer_synchronizer import LayerSynchronizer
from bertviewer.core.loading.opening import open_model
from bertviewer.core.util.progress import no_progress
from bertviewer.core.sources.parsing import parse_source
data, folder, rank, shards = sys.argv[1:]
model = open_model(parse_source("demo"))
model.module(random_weights=False)
model.tokenizer()
print("ready", flush=True)
sys.stdin.readline()
wish = CorpusRequest((Path(data),), CorpusOptions(shards=int(shards)), Path(folder), "")
make_corpus(model, wish, no_progress, Process(int(rank), 2))
"""


def _two_processes(data: Path, folder: Path) -> float:
    """Return the seconds from when both have their model until the first has merged."""
    both = [
        subprocess.Popen(
            [sys.executable, "-c", _PROCESS, str(data), str(folder), str(rank), str(_SHARDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in both:
        assert process.stdout is not None
        process.stdout.readline()
    start = time.perf_counter()
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in both:
        process.wait()
    seconds = time.perf_counter() - start
    for process in both:
        process.communicate()
    return seconds


def _memory(folder: Path) -> float:
    (folder / "tiny").mkdir()
    write_tiny_bert(folder / "tiny")
    data = _write(folder / "many.txt", MANY)
    seen: dict[int, int] = {}

    def watch(done: int, total: int, label: str) -> None:
        if total == MANY:
            seen[done] = resident_memory()

    model = open_model(parse_source(str(folder / "tiny")))
    wish = CorpusRequest((data,), CorpusOptions(), folder / "many", "")
    make_corpus(model, wish, watch, making.SINGLE_PROCESS)
    first = max(memory for done, memory in seen.items() if done <= MANY // 5)
    return (max(seen.values()) - first) / 1e6
