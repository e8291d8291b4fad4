"""What is damaged, and what is then done with it: each target is a folder with one bad file."""

import json
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.backend import torch, transformers
from bertviewer.core.building.building import build_config, heads_of, plain_config
from bertviewer.core.errors import UserError
from bertviewer.core.loading.opening import open_model
from bertviewer.core.pickles import child as pickle_child
from bertviewer.core.pickles.contents import read_contents
from bertviewer.core.run.running import run_sentence
from bertviewer.core.source.configuration import read_configuration
from bertviewer.core.source.parsing import parse_source
from bertviewer.core.tokenizer.model_tokenizer import ModelTokenizer
from tests.fuzz.mutations import mutated, mutated_json, mutated_safetensors

PLAIN = ("vocab.txt", "special_tokens_map.json", "added_tokens.json")
"""What lies beside a tokenizer that has no tokenizer.json."""

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
    shards = folder / "shards"
    model.save_pretrained(shards, max_shard_size="3KB")


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
