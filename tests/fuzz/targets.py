"""What is damaged, and how the program uses it: each case is a folder with one bad file."""

import gzip
import io
import json
import random
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from msgspec import Struct
from pyarrow import parquet
from safetensors.numpy import load, save

from bertviewer.charts.corpus import (
    corpus_histogram,
    corpus_statistics,
    outlier_chart,
    outlier_table,
)
from bertviewer.charts.labels import token_title
from bertviewer.charts.layers import layer_chart
from bertviewer.charts.statistics import tensor_statistics_table
from bertviewer.charts.table import csv_text
from bertviewer.charts.token_charts import norms_chart, similarity_chart, word_chart
from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.analysis.predictions import classification
from bertviewer.core.analysis.similarity import same_words, token_path
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.configurations import build_config, plain_config
from bertviewer.core.building.models import task_names
from bertviewer.core.corpus.comparison import compare_corpora
from bertviewer.core.corpus.corpus import Corpus, check_model, outlier_rows
from bertviewer.core.corpus.data_files import scan, sentences
from bertviewer.core.corpus.making import CorpusRequest, Process, make_corpus
from bertviewer.core.corpus.merging import merge_corpora
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.plan import PLAN_FILE, SHARDS_FOLDER
from bertviewer.core.corpus.reading import FEATURES, MANIFEST, STATISTICS, read_corpus
from bertviewer.core.corpus.writing import write_corpus
from bertviewer.core.loading.opening import open_model
from bertviewer.core.pickles import worker as pickle_worker
from bertviewer.core.pickles.contents import read_contents
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.saved_runs.file_format import MAGIC, check_belongs, read_runs
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress
from bertviewer.core.util.sandbox import LIMIT_EXCEEDED
from bertviewer.report import summary
from bertviewer.report.chapters.corpus import corpus as chapter
from bertviewer.report.corpus_text import comparison_text, corpus_text
from bertviewer.report.subject import Subject
from tests.core.saved_runs.saved_runs import run_file, write
from tests.fuzz.mutations import (
    Damage,
    damage_bytes,
    damage_json,
    damage_safetensors,
    one_of,
)

PLAIN = ("vocab.txt", "special_tokens_map.json", "added_tokens.json")
"""The files of a tokenizer without a tokenizer.json."""
RUNS = "two.bertviewer"
CORPUS, PART = "corpus", "part"
"""The folders of a corpus, and of the shards of an unfinished one."""
CORPUS_FILES = tuple(f"{CORPUS}/{name}" for name in (MANIFEST, STATISTICS, FEATURES))
SHARD_FILES = tuple(
    f"{PART}/{SHARDS_FOLDER}/{name}" for name in (PLAN_FILE, "00000.shard", "00001.shard")
)
LINES = ("a cab", "bed and bad", "a", "", "fade a bead")
DATA = tuple(f"data/lines{suffix}" for suffix in (".txt.gz", ".csv", ".jsonl", ".parquet"))
BACKBONES = ("backbone", "use_timm_backbone", "use_pretrained_backbone", "backbone_config")
NUMBERS: Sequence[Any] = (0, -1, 1, 0.5, -0.5, 2**53, 2**62, 2**63 - 1, 1e300)


class Target(Struct, frozen=True):
    """Files of which one is damaged, the damage, and the use."""

    files: tuple[str, ...]
    damage: Damage
    use: Callable[[Path], object]


def write_valid_folder(folder: Path) -> None:
    """Write a BERT of one layer with all files that are damaged."""
    config = transformers.BertConfig(
        vocab_size=40,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.BertModel(config)
    model.save_pretrained(folder)
    model.save_pretrained(folder / "shards", max_shard_size="3KB")
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    _write_tokenizers(folder)
    _write_data(folder)
    opened = open_model(parse_source(str(folder)))
    run = run_sentence(opened, Sentence("a cab", "bed"))
    write(folder / RUNS, run_file(opened, run, run))
    data = (folder / DATA[0],)
    make_corpus(opened, CorpusRequest(data, CorpusOptions(), folder / CORPUS, "fuzz"), no_progress)
    unfinished = CorpusRequest(data, CorpusOptions(shards=2), folder / PART, "fuzz")
    make_corpus(opened, unfinished, no_progress, Process(1, 2))
    shutil.copy(folder / SHARD_FILES[2], folder / SHARD_FILES[1])


def _write_tokenizers(folder: Path) -> None:
    letters = [chr(ord("a") + number) for number in range(26)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    words += [f"##{letter}" for letter in letters[: 40 - len(words)]]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    fast = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    fast.save_pretrained(folder)
    plain = folder / "plain"
    plain.mkdir()
    shutil.copy(folder / "vocab.txt", plain)
    (plain / "special_tokens_map.json").write_text(
        json.dumps({"unk_token": "[UNK]", "mask_token": {"content": "[MASK]", "lstrip": True}})
    )
    (plain / "added_tokens.json").write_text(json.dumps({"<new>": 40, "<other>": 41}))


def _write_data(folder: Path) -> None:
    """Write the same sentences in each format."""
    packed, table, rows, columns = (folder / name for name in DATA)
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress("\n".join(LINES).encode()))
    table.write_text("id,text\n" + "".join(f'{n},"{one}"\n' for n, one in enumerate(LINES)))
    rows.write_text("".join(json.dumps({"text": line, "id": [1.5]}) + "\n" for line in LINES))
    texts = pyarrow.table({"id": range(len(LINES)), "text": LINES})
    parquet.write_table(texts, columns, row_group_size=2)


def write_damaged_folder(valid: Path, folder: Path, target: str, number: int) -> None:
    """Copy the valid folder, and damage the file of a case in it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(valid, folder)
    files, rng = TARGETS[target].files, random.Random(f"{target} {number}")
    file = folder / (files[0] if len(files) == 1 else rng.choice(files))
    file.write_bytes(TARGETS[target].damage(file.read_bytes(), rng))


def _damage_corpus_file(content: bytes, rng: random.Random) -> bytes:
    """Damage a file in the folder of a corpus according to its format."""
    if rng.random() < 0.2:
        return damage_bytes(content, rng)
    if content.startswith(b"{"):
        return one_of(damage_bytes, *3 * (damage_json,))(content, rng)
    if content.startswith(b"PAR1"):
        return _damage_column(content, rng)
    if content.startswith(zlib.compress(b"", 1)[:2]):
        return zlib.compress(_damage_arrays(zlib.decompress(content), rng), 1)
    return _damage_arrays(content, rng)


def _damage_arrays(content: bytes, rng: random.Random) -> bytes:
    """Change a value, a shape, a dtype or a name in a safetensors file, or damage its header."""
    if rng.random() < 0.5:
        return damage_safetensors(content, rng)
    arrays = {name: array.copy() for name, array in load(content).items()}
    name = rng.choice(list(arrays))
    array = arrays[name]
    kind = rng.randrange(5)
    if kind == 0 and array.size:
        with np.errstate(all="ignore"):
            value = np.array(rng.choice((*NUMBERS[:-2], np.nan, np.inf))).astype(array.dtype)
        array.flat[rng.randrange(array.size)] = value
    elif kind == 1:
        arrays[name] = np.stack([array, array])
    elif kind == 2:
        arrays[name] = array[:0]
    elif kind == 3:
        arrays[name] = array.astype(rng.choice(("f2", "f4", "f8", "i8", "i4", "u1", "?")))
    else:
        arrays[name.replace(":", ".", 1) if rng.random() < 0.5 else f"{name}x"] = array
        del arrays[name]
    return save(arrays)


def _damage_data(content: bytes, rng: random.Random) -> bytes:
    """Damage data, or what is compressed in it."""
    if content.startswith(b"\x1f\x8b") and rng.random() < 0.5:
        return gzip.compress(damage_bytes(gzip.decompress(content), rng))
    if content.startswith(b"PAR1") and rng.random() < 0.5:
        return _damage_column(content, rng)
    return damage_bytes(content, rng)


def _damage_column(content: bytes, rng: random.Random) -> bytes:
    """Change a value in a column of a Parquet file."""
    table = parquet.read_table(io.BytesIO(content))
    place = rng.randrange(table.num_columns)
    column = table.column(place)
    values = column.to_pylist()
    row = rng.randrange(len(values))
    values[row] = rng.choice((*NUMBERS, None, float("nan"), "", "x" * 5000, [], [0]))
    if isinstance(values[row - 1], list) and rng.random() < 0.5:
        values[row] = [rng.choice((0, 1, -1, 2**40)) for _ in values[row - 1]]
    try:
        changed = pyarrow.array(values, column.type)
    except (pyarrow.ArrowException, TypeError, ValueError):
        return damage_bytes(content, rng)
    out = io.BytesIO()
    table = table.set_column(place, table.column_names[place], changed)
    parquet.write_table(table, out, compression=rng.choice(("zstd", "none", "snappy")))
    return out.getvalue()


def _damage_runs(content: bytes, rng: random.Random) -> bytes:
    """Return a file of runs with other JSON, whose length is right, or other bytes."""
    if rng.random() < 0.2:
        return damage_bytes(content, rng)
    unpacked = zlib.decompress(content[len(MAGIC) :])
    length = int.from_bytes(unpacked[:8], "little")
    text, arrays = unpacked[8 : 8 + length], unpacked[8 + length :]
    text = one_of(damage_bytes, damage_json, damage_json, _damage_statistics)(text, rng)
    return MAGIC + zlib.compress(len(text).to_bytes(8, "little") + text + arrays)


def _damage_statistics(text: bytes, rng: random.Random) -> bytes:
    """Change a statistic in the JSON of runs."""
    data = json.loads(text)
    call = rng.choice(data["run"]["modules"])["calls"][0]
    call[rng.choice(list(call))] = rng.choice((0, 1, -1, 0.5, 1e300, None))
    return json.dumps(data).encode()


def _damage_names(_content: bytes, rng: random.Random) -> bytes:
    """Return a configuration of any type in which a member of its class has another value."""
    model_type = rng.choice(list(transformers.CONFIG_MAPPING))
    kind = transformers.CONFIG_MAPPING[model_type]
    config: dict[str, object] = {"model_type": model_type}
    nested = list(getattr(kind, "sub_configs", {}))
    table = config
    if nested and rng.random() < 0.3:
        table = config[rng.choice(nested)] = {}
    table[rng.choice((*dir(kind), *BACKBONES))] = rng.choice((5, "x", [], {}, None, True))
    return json.dumps(config).encode()


def _open(folder: Path) -> object:
    return open_model(parse_source(str(folder)))


def _load(folder: Path) -> object:
    return open_model(parse_source(str(folder))).module(random_weights=False)


def _run(folder: Path) -> object:
    return run_sentence(open_model(parse_source(str(folder))), Sentence("a cab", "bed"))


def _tokenize(folder: Path) -> object:
    return ModelTokenizer(folder, {"model_type": "bert"}).tokenize(Sentence("a cab", "bed"))


def _configure(folder: Path) -> object:
    """Do what precedes building the model, which takes much longer."""
    config = build_config(read_configuration(folder / "config.json"), "fuzz")
    return plain_config(config, "fuzz"), task_names(config)


def _unpickle(folder: Path) -> None:
    """Convert a pickle in this process, instead of a process for each case."""
    file = folder / "pytorch_model.bin"
    if refusal := read_contents(file).refusal:
        raise UserError(refusal)
    try:
        pickle_worker.convert(str(file), str(folder / "converted.safetensors"))
    except MemoryError as error:  # as the helper process reports it
        raise UserError(LIMIT_EXCEEDED) from error


def _read_data(folder: Path) -> None:
    """Read the data in each format, of which one is damaged."""
    for name in DATA:
        files = scan([(folder / name, name)], None)
        list(sentences(files, None, 0, files[0].sentences))


def _show_corpus(folder: Path) -> None:
    """Do what commands, scripts and the window do with a corpus."""
    architecture = open_model(parse_source(str(folder))).architecture
    corpus = read_corpus(folder / CORPUS)
    _show(corpus)
    compared = compare_corpora(corpus, corpus)
    comparison_text(compared)
    json.dumps(compared.to_json(), allow_nan=False)
    merge_corpora([folder / CORPUS], "fuzz")
    check_model(corpus, architecture)
    chapter(Subject(architecture, corpus=corpus))
    if corpus.outliers is not None and (rows := outlier_rows(corpus)):
        outlier_table(corpus, rows)
        outlier_chart(corpus, corpus.outliers, [row.feature for row in rows])


def _merge_shards(folder: Path) -> None:
    corpus = merge_corpora([folder / PART], "fuzz")
    _show(corpus)
    merged = folder / "merged"
    merged.mkdir(exist_ok=True)
    write_corpus(merged, corpus)
    read_corpus(merged)


def _show(corpus: Corpus) -> None:
    corpus_text(corpus)
    for row in corpus.rows:
        corpus_histogram(row)
        corpus_statistics(row)
        row.quantiles()


def _show_runs(folder: Path) -> None:
    """Do what the window does with a file of runs: charts and tables."""
    path = folder / RUNS
    file, architecture = read_runs(path), open_model(parse_source(str(path))).architecture
    check_belongs(path, file, architecture)
    for run in filter(None, (file.run, file.baseline)):
        csv_text(layer_chart(architecture, run, "std"))
        norms_chart(run)
        for token in range(len(run.tokens)):
            token_path(run, token)
            token_title(run, token)
        if run.hidden_states:
            similarity_chart(run, len(run.hidden_states) - 1, True)
        for pair in same_words(run):
            word_chart(run, pair, pair.text)
        outlier_features(run)
        classification(run, architecture)
        tensor_statistics_table(run.modules[0].statistics)
        run.to_json()
        summary.provenance(run.source)


DOCUMENT = one_of(damage_bytes, damage_json, damage_json)

TARGETS: Mapping[str, Target] = {
    "names": Target(("config.json",), _damage_names, _configure),
    "config": Target(("config.json",), DOCUMENT, _open),
    "tokenizer": Target(("tokenizer.json",), DOCUMENT, _run),
    "settings": Target(
        ("tokenizer_config.json", *(f"plain/{name}" for name in PLAIN)),
        one_of(damage_bytes, *3 * (damage_json,)),
        lambda folder: (_tokenize(folder), _tokenize(folder / "plain")),
    ),
    "safetensors": Target(("model.safetensors",), damage_safetensors, _load),
    "index": Target(
        ("shards/model.safetensors.index.json",),
        DOCUMENT,
        lambda folder: _load(folder / "shards"),
    ),
    "pickle": Target(("pytorch_model.bin",), damage_bytes, _unpickle),
    "runs": Target((RUNS,), _damage_runs, _show_runs),
    "corpus": Target(CORPUS_FILES, _damage_corpus_file, _show_corpus),
    "shards": Target(SHARD_FILES, _damage_corpus_file, _merge_shards),
    "data": Target(DATA, _damage_data, _read_data),
}
