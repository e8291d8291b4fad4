"""What a model takes whose layers are read one by one: memory, and time against one in memory."""

import json
import random
import shutil
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
from msgspec.structs import replace

from bertviewer.core.building.backend import transformers
from bertviewer.core.corpus import running
from bertviewer.core.corpus.making import CorpusRequest, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.util.progress import no_progress
from tests.conftest import TINY_WORDS
from tests.tools.resident_memory import most_memory, resident_memory

SENTENCE = Sentence("The cat sat on the mat.")
ROUNDS = 7
MB = 1e6


def offload() -> dict[str, float]:
    """Run bert-large with random weights, and a Llama of 7 B parameters that are all zero.

    Returns:
        Peak memory, in MB above what the process takes before, beside twice the weights of the
        largest layer; a run against one of the model in memory; and seconds. The Llama's file has
        14 GB in bfloat16, and nothing of it is on the disk. 200 sentences through bert-large, eight
        at a time: in memory, and layer by layer, each layer for many batches or all for each batch.
    """
    figures: dict[str, float] = {}
    for measure in (_bert_large, _llama):
        # What an earlier model left of memory that was taken would hide what is taken now.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            figures |= pool.submit(_in_a_folder, measure).result()
    with tempfile.TemporaryDirectory(prefix="bertviewer-") as place:
        _write_bert_large(Path(place))
        for way in ("in memory", "layers outside", "batches outside"):
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                figures |= pool.submit(_corpus, Path(place), way).result()
    return figures


def _in_a_folder(measure: Callable[[Path], dict[str, float]]) -> dict[str, float]:
    run_sentence(open_model(parse_source("demo")), SENTENCE)  # what torch makes at first
    with tempfile.TemporaryDirectory(prefix="bertviewer-") as folder:
        return measure(Path(folder))


def _write_bert_large(folder: Path) -> None:
    sizes = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096}
    config = transformers.BertConfig(num_attention_heads=16, **sizes)
    transformers.BertModel(config).save_pretrained(folder)
    _add_vocabulary(folder)


def _corpus(folder: Path, way: str) -> dict[str, float]:
    """Run 200 short sentences through the model in a folder."""
    if way == "batches outside":
        running.MAX_BATCHES = 1
    chance = random.Random(1)
    data, out = folder / "lines.txt", folder / way
    lines = (" ".join(chance.choices(TINY_WORDS, k=chance.randint(4, 12))) for _ in range(200))
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_sentence(open_model(parse_source("demo")), SENTENCE)  # what torch makes at first
    model = _opened(folder, offload=way != "in memory")
    model.tokenizer()
    before = resident_memory()
    with most_memory() as most:
        start, read = time.process_time(), _read()
        wish = CorpusRequest((data,), CorpusOptions(batch_size=8), out, "")
        make_corpus(model, wish, no_progress)
        seconds, read = time.process_time() - start, _read() - read
    return {
        f"corpus, {way}, processor's seconds": seconds,
        f"corpus, {way}, read MB": read / MB,
        f"corpus, {way}, peak MB": (most.bytes - before) / MB,
    }


def _read() -> int:
    """Return the bytes that this process has read from files; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return int(lines[0].partition(":")[2])


def _bert_large(folder: Path) -> dict[str, float]:
    _write_bert_large(folder)
    model = _opened(folder, offload=True)
    peak, seconds = _measured(model)
    whole = _opened(folder, offload=False)
    assert _ran(whole).modules == _ran(model).modules
    # In turns: the machine may have other things to do now and then.
    pairs = [(_ran(model).seconds_forward, _ran(whole).seconds_forward) for _ in range(ROUNDS)]
    ours, theirs = zip(*pairs, strict=True)
    return {
        "bert-large, peak MB": peak,
        "bert-large, largest layer twice MB": 2 * _largest(model),
        "bert-large, first run": seconds,
        "bert-large, ratio": statistics.median(ours) / statistics.median(theirs),
    }


def _llama(folder: Path) -> dict[str, float]:
    config = transformers.LlamaConfig(dtype="bfloat16")  # its defaults are those of 7 B
    with torch.device("meta"):
        module = transformers.LlamaModel(config)
    header, at = {}, 0
    for name, parameter in module.named_parameters():
        end = at + 2 * parameter.numel()
        shape = list(parameter.shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, end]}
        at = end
    raw = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(raw)) + raw)
        file.truncate(8 + len(raw) + at)
    (folder / "config.json").write_text(json.dumps(config.to_dict()))
    _add_vocabulary(folder)
    model = _opened(folder, offload=True)
    peak, seconds = _measured(model)
    return {
        "llama 7 B, file MB": at / MB,
        "llama 7 B, peak MB": peak,
        "llama 7 B, largest layer twice MB": 2 * _largest(model),
        "llama 7 B, first run": seconds,
    }


def _add_vocabulary(folder: Path) -> None:
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(demo_folder() / name, folder)


def _opened(folder: Path, *, offload: bool) -> LoadedModel:
    model = open_model(replace(parse_source(str(folder)), offload=offload))
    model.ensure_built()
    return model


def _ran(model: LoadedModel) -> ActivationRun:
    return run_sentence(model, SENTENCE, cache=ActivationCache("units"))


def _measured(model: LoadedModel) -> tuple[float, float]:
    """Return the most memory of a run, in MB above that before, and its seconds."""
    before = resident_memory()
    with most_memory() as most:
        start = time.perf_counter()
        _ran(model)
        seconds = time.perf_counter() - start
    return (most.bytes - before) / MB, seconds


def _largest(model: LoadedModel) -> float:
    """Return the MB of the largest of the parts whose weights are read at once."""
    assert model.offload_state is not None
    units = map(model.running_module.get_submodule, model.offload_state.units)
    return max(sum(weight.nbytes for weight in unit.parameters()) for unit in units) / MB
