"""What is damaged, and what is then done with it: each target is a folder with one bad file."""

import gzip
import io
import json
import random
import shutil
import zlib
from collections.abc import Callable, Mapping
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
from tests.fuzz.mutations import mutated, mutated_json, mutated_safetensors

PLAIN = ("vocab.txt", "special_tokens_map.json", "added_tokens.json")
"""What lies beside a tokenizer that has no tokenizer.json."""

RUNS = "two.bertviewer"
CORPUS, PART = "corpus", "part"
"""The folders of a corpus, and of the shards of one that is not finished."""
CORPUS_FILES = tuple(f"{CORPUS}/{name}" for name in (MANIFEST, STATISTICS, FEATURES))
SHARD_FILES = tuple(
    f"{PART}/{SHARDS_FOLDER}/{name}" for name in (PLAN_FILE, "00000.shard", "00001.shard")
)
LINES = ("a cab", "bed and bad", "a", "", "fade a bead")
DATA = tuple(f"data/lines{suffix}" for suffix in (".txt.gz", ".csv", ".jsonl", ".parquet"))

BACKBONES = ("backbone", "use_timm_backbone", "use_pretrained_backbone", "backbone_config")
Damage = Callable[[bytes, random.Random], bytes]


class Target(Struct, frozen=True):
    """Files one of which is damaged, how, and what makes use of them."""

    files: tuple[str, ...]
    damage: Damage
    use: Callable[[Path], object]


def sound_folder(folder: Path) -> None:
    """Write a BERT of one layer with all the files that are damaged."""
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
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    _save_runs(folder)
    _save_data(folder)
    _save_corpora(folder)
    shards = folder / "shards"
    model.save_pretrained(shards, max_shard_size="3KB")


def _save_runs(folder: Path) -> None:
    """Write a file of runs of the model that lies there, as its JSON and its arrays too."""
    model = open_model(parse_source(str(folder)))
    run = run_sentence(model, Sentence("a cab", "bed"))
    write(folder / RUNS, run_file(model, run, run))


def _save_data(folder: Path) -> None:
    """Write the same sentences in each form of data."""
    packed, table, rows, columns = (folder / name for name in DATA)
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress("\n".join(LINES).encode()))
    table.write_text("id,text\n" + "".join(f'{n},"{one}"\n' for n, one in enumerate(LINES)))
    rows.write_text("".join(json.dumps({"text": line, "id": [1.5]}) + "\n" for line in LINES))
    texts = pyarrow.table({"id": range(len(LINES)), "text": LINES})
    parquet.write_table(texts, columns, row_group_size=2)


def _save_corpora(folder: Path) -> None:
    """Write a corpus of the model that lies there, and the shards of one."""
    model = open_model(parse_source(str(folder)))
    data = (folder / DATA[0],)
    make_corpus(model, CorpusRequest(data, CorpusOptions(), folder / CORPUS, "fuzz"), no_progress)
    wish = CorpusRequest(data, CorpusOptions(shards=2), folder / PART, "fuzz")
    make_corpus(model, wish, no_progress, Process(1, 2))
    second = folder / SHARD_FILES[2]
    second.with_name("00000.shard").write_bytes(second.read_bytes())


def _damaged_corpus_file(content: bytes, chance: random.Random) -> bytes:
    """Return a file of a corpus's folder after a damage that suits its kind."""
    if chance.random() < 0.2:
        return mutated(content, chance)
    if content.startswith(b"{"):
        return chance.choice((mutated, mutated_json, mutated_json, mutated_json))(content, chance)
    if content.startswith(b"PAR1"):
        return _with_another_column(content, chance)
    if content.startswith(zlib.compress(b"", 1)[:2]):
        return zlib.compress(_with_other_values(zlib.decompress(content), chance), 1)
    return _with_other_values(content, chance)


def _with_other_values(content: bytes, chance: random.Random) -> bytes:
    """Return a safetensors file with a value, a shape or a name that is another, or damaged."""
    if chance.random() < 0.5:
        return mutated_safetensors(content, chance)
    arrays = {name: array.copy() for name, array in load(content).items()}
    name = chance.choice(list(arrays))
    array = arrays[name]
    kind = chance.randrange(5)
    if kind == 0 and array.size:
        values = (0, -1, 2**62, np.nan, np.inf, 1e300, -0.5, 1)
        with np.errstate(all="ignore"):
            array.flat[chance.randrange(array.size)] = np.array(chance.choice(values)).astype(
                array.dtype
            )
    elif kind == 1:
        arrays[name] = np.stack([array, array])
    elif kind == 2:
        arrays[name] = array[:0]
    elif kind == 3:
        arrays[name] = array.astype(chance.choice(("f2", "f4", "f8", "i8", "i4", "u1", "?")))
    else:
        arrays[name.replace(":", ".", 1) if chance.random() < 0.5 else f"{name}x"] = array
        del arrays[name]
    return save(arrays)


def _damaged_data(content: bytes, chance: random.Random) -> bytes:
    """Return data that are damaged as they are, or unpacked."""
    if content.startswith(b"\x1f\x8b") and chance.random() < 0.5:
        return gzip.compress(mutated(gzip.decompress(content), chance))
    if content.startswith(b"PAR1") and chance.random() < 0.5:
        return _with_another_column(content, chance)
    return mutated(content, chance)


def _with_another_column(content: bytes, chance: random.Random) -> bytes:
    """Return a Parquet file with a value in one of its columns that is another."""
    table = parquet.read_table(io.BytesIO(content))
    place = chance.randrange(table.num_columns)
    column = table.column(place)
    values = column.to_pylist()
    row = chance.randrange(len(values))
    strange: tuple[Any, ...] = (
        None,
        0,
        -1,
        1,
        2**53,
        2**63 - 1,
        0.5,
        float("nan"),
        1e300,
        "",
        "x" * 5000,
        [],
        [0],
    )
    values[row] = chance.choice(strange)
    if isinstance(values[row - 1], list) and chance.random() < 0.5:
        values[row] = [chance.choice((0, 1, -1, 2**40)) for _ in values[row - 1]]
    try:
        other = pyarrow.array(values, column.type)
    except (pyarrow.ArrowException, TypeError, ValueError):
        return mutated(content, chance)
    out = io.BytesIO()
    table = table.set_column(place, table.column_names[place], other)
    parquet.write_table(table, out, compression=chance.choice(("zstd", "none", "snappy")))
    return out.getvalue()


def _show_corpus(folder: Path) -> None:
    """Do what commands, scripts and the window do with the folder of a corpus."""
    architecture = open_model(parse_source(str(folder))).architecture
    corpus = read_corpus(folder / CORPUS)
    _tell(corpus)
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
    _tell(corpus)
    written = folder / "merged"
    written.mkdir(exist_ok=True)
    write_corpus(written, corpus)
    read_corpus(written)


def _tell(corpus: Corpus) -> None:
    """Make what is printed of a corpus."""
    corpus_text(corpus)
    for row in corpus.rows:
        corpus_histogram(row)
        corpus_statistics(row)
        row.quantiles()


def _survey(folder: Path) -> None:
    """Read each form of the data, of which one is damaged."""
    for name in DATA:
        files = scan([(folder / name, name)], None)
        list(sentences(files, None, 0, files[0].sentences))


def _with_other_figures(text: bytes, chance: random.Random) -> bytes:
    """Return the JSON of runs with another sum in it, and perhaps one that cannot be."""
    data = json.loads(text)
    call = chance.choice(data["run"]["modules"])["calls"][0]
    call[chance.choice(list(call))] = chance.choice((0, 1, -1, 0.5, 1e300, None))
    return json.dumps(data).encode()


def _damaged_runs(content: bytes, chance: random.Random) -> bytes:
    """Return a file of runs with other JSON, whose length is right, or other bytes."""
    if chance.random() < 0.2:
        return mutated(content, chance)
    unpacked = zlib.decompress(content[len(MAGIC) :])
    length = int.from_bytes(unpacked[:8], "little")
    text, arrays = unpacked[8 : 8 + length], unpacked[8 + length :]
    damage = chance.choice((mutated, mutated_json, mutated_json, _with_other_figures))
    text = damage(text, chance)
    return MAGIC + zlib.compress(len(text).to_bytes(8, "little") + text + arrays)


def _show_runs(folder: Path) -> None:
    """Do what the window does with a file of runs: make its charts and tables."""
    path = folder / RUNS
    file, architecture = read_runs(path), open_model(parse_source(str(path))).architecture
    check_belongs(path, file, architecture)
    for run in (file.run, file.baseline):
        if run is not None:
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


def one_of(*damages: Damage) -> Damage:
    """Return a damage that is one of these each time."""
    return lambda content, chance: chance.choice(damages)(content, chance)


def _open(folder: Path) -> object:
    return open_model(parse_source(str(folder)))


def _load(folder: Path) -> object:
    return open_model(parse_source(str(folder))).module(random_weights=False)


def _run(folder: Path) -> object:
    return run_sentence(open_model(parse_source(str(folder))), Sentence("a cab", "bed"))


def _tokenize(folder: Path) -> object:
    return ModelTokenizer(folder, {"model_type": "bert"}).tokenize(Sentence("a cab", "bed"))


def _unpickle(folder: Path) -> object:
    """Do what the window does to a pickle, but in this process instead of one for each case."""
    file = folder / "pytorch_model.bin"
    if read_contents(file).refusal:
        raise UserError("what it asks for is refused")
    try:
        pickle_worker.convert(str(file), str(folder / "converted.safetensors"))
    except MemoryError as error:  # as the helper process reports it
        raise UserError(LIMIT_EXCEEDED) from error
    return None


def _misnamed(_content: bytes, chance: random.Random) -> bytes:
    """Return a configuration of any type, with a value under a name that its class has."""
    model_type = chance.choice(list(transformers.CONFIG_MAPPING))
    kind = transformers.CONFIG_MAPPING[model_type]
    config: dict[str, object] = {"model_type": model_type}
    nested = list(getattr(kind, "sub_configs", {}))
    table = config
    if nested and chance.random() < 0.3:
        table = config[chance.choice(nested)] = {}
    table[chance.choice((*dir(kind), *BACKBONES))] = chance.choice((5, "x", [], {}, None, True))
    return json.dumps(config).encode()


def _configure(folder: Path) -> object:
    """Do all that is done with a configuration before a model is built, which takes far longer."""
    config = build_config(read_configuration(folder / "config.json"), "fuzz")
    return plain_config(config, "fuzz"), task_names(config)


TARGETS: Mapping[str, Target] = {
    "names": Target(("config.json",), _misnamed, _configure),
    "config": Target(("config.json",), one_of(mutated, mutated_json, mutated_json), _open),
    "tokenizer": Target(("tokenizer.json",), one_of(mutated, mutated_json, mutated_json), _run),
    "settings": Target(
        ("tokenizer_config.json", *(f"plain/{name}" for name in PLAIN)),
        one_of(mutated, *3 * (mutated_json,)),
        lambda folder: (_tokenize(folder), _tokenize(folder / "plain")),
    ),
    "safetensors": Target(("model.safetensors",), mutated_safetensors, _load),
    "index": Target(
        ("shards/model.safetensors.index.json",),
        one_of(mutated, mutated_json, mutated_json),
        lambda folder: _load(folder / "shards"),
    ),
    "pickle": Target(("pytorch_model.bin",), mutated, _unpickle),
    "runs": Target((RUNS,), _damaged_runs, _show_runs),
    "corpus": Target(CORPUS_FILES, _damaged_corpus_file, _show_corpus),
    "shards": Target(SHARD_FILES, _damaged_corpus_file, _merge_shards),
    "data": Target(DATA, _damaged_data, _survey),
}


def damaged_folder(sound: Path, folder: Path, name: str, number: int) -> Path:
    """Make ``folder`` a copy of the sound one with the case's file damaged; return that file."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    target = TARGETS[name]
    chance = random.Random(f"{name} {number}")
    file = folder / (target.files[0] if len(target.files) == 1 else chance.choice(target.files))
    file.write_bytes(target.damage(file.read_bytes(), chance))
    return file
