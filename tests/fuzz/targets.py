"""What is damaged, and what is then done with it: each target is a folder with one bad file."""

import json
import random
import shutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bertviewer.charts.layers import layer_chart
from bertviewer.charts.naming import token_title
from bertviewer.charts.similarities import similarity_chart, word_chart
from bertviewer.charts.statistics_table import tensor_statistics_table
from bertviewer.charts.table import csv_text
from bertviewer.charts.token_norms import norms_chart
from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.analysis.class_scores import classification
from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.analysis.similarity import same_words
from bertviewer.core.analysis.token_path import token_path
from bertviewer.core.backend import torch, transformers
from bertviewer.core.building.building import build_config, heads_of, plain_config
from bertviewer.core.errors import UserError
from bertviewer.core.loading.opening import open_model
from bertviewer.core.pickles import child as pickle_child
from bertviewer.core.pickles.contents import read_contents
from bertviewer.core.run.running import run_sentence
from bertviewer.core.run_files.reading import check_belongs, read_runs
from bertviewer.core.run_files.writing import MAGIC
from bertviewer.core.source.configuration import read_configuration
from bertviewer.core.source.parsing import parse_source
from bertviewer.core.tokenizer.model_tokenizer import ModelTokenizer
from bertviewer.report import summaries
from tests.core.run_files.saved_runs import run_file, write
from tests.fuzz.mutations import mutated, mutated_json, mutated_safetensors

PLAIN = ("vocab.txt", "special_tokens_map.json", "added_tokens.json")
"""What lies beside a tokenizer that has no tokenizer.json."""

RUNS = "two.bertviewer"

BACKBONES = ("backbone", "use_timm_backbone", "use_pretrained_backbone", "backbone_config")
Damage = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True, slots=True)
class Target:
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
    shards = folder / "shards"
    model.save_pretrained(shards, max_shard_size="3KB")


def _save_runs(folder: Path) -> None:
    """Write a file of runs of the model that lies there, as its JSON and its arrays too."""
    model = open_model(parse_source(str(folder)))
    run = run_sentence(model, Sentence("a cab", "bed"))
    write(folder / RUNS, run_file(model, run, run))


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
    for run in (file.run, file.run_a):
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
            summaries.provenance(run.source)


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
    pickle_child.convert(file, folder / "converted.safetensors")
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
    return plain_config(config, "fuzz"), heads_of(config)


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
    "workspace": Target((RUNS,), _damaged_runs, _show_runs),
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
