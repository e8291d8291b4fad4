"""A configuration from weights alone, where names and shapes leave no doubt what model they are.

BERT, RoBERTa and ELECTRA name their layers alike, DistilBERT in its own way. The tensors of one of
them are all there and no others, each of the shape that it has in a model of transformers with the
same handful of sizes; otherwise nothing is said.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertviewer.core.building.building import build_config, build_on_meta
from bertviewer.core.checkpoints.quantization import packed_weights
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.checkpoints.wrappers import without_wrappers
from bertviewer.core.sources.configuration import MAX_LAYERS
from bertviewer.core.sources.tasks import find_task
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.numbers import count_text, number_text

Shapes = Mapping[str, tuple[int, ...]]

WORDS = "embeddings.word_embeddings.weight"
POSITIONS = "embeddings.position_embeddings.weight"
TYPES = "embeddings.token_type_embeddings.weight"
# Numbers that count up, which old checkpoints hold though nobody learns them.
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")

HEAD_SIZE = 64
_HEADS_OF_WIDTH: Mapping[int, int] = {128: 2, 256: 4, 312: 12, 384: 12, 512: 8, 768: 12, 1024: 16}
"""The heads of published models by their width: MiniLM and TinyBERT have narrower ones than 64."""

_TYPES = ("bert", "roberta", "electra", "distilbert")
_OLD_NAMES = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))
_ELECTRA_HEADS = ("discriminator_predictions.", "generator_predictions.")


def rebuilt(
    checkpoint: Checkpoint, name: str, known: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], str] | None:
    """Return the configuration of a BERT or a model like it, and what in it is a guess.

    ``None`` if its tensors are not exactly those of a BERT, RoBERTa, ELECTRA or DistilBERT. What no
    shape determines is what published models of this width have: the number of heads, the
    activation, and the normalisation's epsilon, which is always the same in DistilBERT.

    Args:
        checkpoint: the tensors; their values are not read.
        name: what the model is called in the text on the guess.
        known: a configuration that does not say which model it is of; its values come first.
    """
    packed = packed_weights(checkpoint.tensors)
    every = {
        _modern(key): tensor.shape
        for key, tensor in checkpoint.tensors.items()
        if packed.get(key, key) == key  # scales of quantized weights are no tensors of a BERT
    }
    table = next((key for key in every if f".{key}".endswith(f".{WORDS}")), None)
    if table is None:
        return None
    *outer, own = table.removesuffix(WORDS).removesuffix(".").split(".")
    if own not in _TYPES:
        outer, own = [*outer, own], ""
    added = "".join(f"{part}." for part in outer if part)  # by wrappers, as ``module.`` is
    every = {key.removeprefix(added): shape for key, shape in every.items()}
    prefix = f"{own}." if own else ""
    parts = tuple(prefix + part for part in ("embeddings", "encoder.", "transformer.", "pooler."))
    base = {
        key.removeprefix(prefix): shape
        for key, shape in every.items()
        if key.startswith(parts) and key.removeprefix(prefix) not in BUFFERS
    }
    config = _sized(prefix.removesuffix("."), base, every)
    if config is None:
        return None
    labels = every.get("classifier.weight") or every.get("classifier.out_proj.weight")
    if labels is not None and len(labels) == 2:
        config["num_labels"] = labels[0]
    known = {key: value for key, value in (known or {}).items() if value is not None}
    guess = _guess(name, config, known)
    return config | known | {"model_type": config["model_type"]}, guess


def _sized(named: str, base: Shapes, every: Shapes) -> dict[str, Any] | None:
    """Return the sizes in a configuration; ``named`` is the model type before all names, if any."""
    for config in (_distilbert(base), _bert(named, base, every)):
        if config is None or named not in (config["model_type"], ""):
            continue
        try:
            built = build_on_meta(
                build_config(config, "checkpoint"), find_task("base"), "checkpoint"
            )
        except UserError:
            continue  # there is no such model
        shapes = {key: tuple(tensor.shape) for key, tensor in built.named_parameters()}
        if "pooler.dense.weight" not in base:
            shapes = {key: shape for key, shape in shapes.items() if not key.startswith("pooler.")}
        if base == shapes:
            return config
    return None


def _modern(key: str) -> str:
    key = without_wrappers(key)
    for old, new in _OLD_NAMES:
        if key.endswith(old):
            return key.removesuffix(old) + new
    return key


def _tables(base: Shapes, *names: str) -> list[tuple[int, ...]] | None:
    """Return the shapes of these tensors, if all are there and are matrices."""
    shapes = [base.get(name, ()) for name in names]
    return None if any(len(shape) != 2 or 0 in shape for shape in shapes) else shapes


def _layers(base: Shapes, beginning: str) -> int | None:
    count = len({key.split(".")[2] for key in base if key.startswith(beginning)})
    return count if count <= MAX_LAYERS else None


def _bert(named: str, base: Shapes, every: Shapes) -> dict[str, Any] | None:
    """Return a BERT, RoBERTa or ELECTRA, which their heads distinguish, or else their tables."""
    found = _tables(base, WORDS, POSITIONS, TYPES, "encoder.layer.0.intermediate.dense.weight")
    layers = _layers(base, "encoder.layer.")
    if found is None or layers is None:
        return None
    (words, embedded), (positions, _), (types, _), (inner, width) = found
    model_type = named
    if not named:
        is_electra = embedded != width or any(key.startswith(_ELECTRA_HEADS) for key in every)
        # RoBERTa has one kind of segment, and two positions more than the tokens that it takes.
        is_roberta = types == 1 and positions > 2 and (positions - 2) & (positions - 3) == 0
        model_type = "electra" if is_electra else "roberta" if is_roberta else "bert"
    config: dict[str, Any] = {
        "model_type": model_type,
        "vocab_size": words,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": _heads(width),
        "intermediate_size": inner,
        "max_position_embeddings": positions,
        "type_vocab_size": types,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5 if model_type == "roberta" else 1e-12,
        "pad_token_id": min(1 if model_type == "roberta" else 0, words - 1),
    }
    if model_type == "electra":
        config["embedding_size"] = embedded
    return config


def _distilbert(base: Shapes) -> dict[str, Any] | None:
    found = _tables(base, WORDS, POSITIONS, "transformer.layer.0.ffn.lin1.weight")
    layers = _layers(base, "transformer.layer.")
    if found is None or layers is None:
        return None
    (words, width), (positions, _), (inner, _) = found
    return {
        "model_type": "distilbert",
        "vocab_size": words,
        "dim": width,
        "n_layers": layers,
        "n_heads": _heads(width),
        "hidden_dim": inner,
        "max_position_embeddings": positions,
        "activation": "gelu",
        "pad_token_id": 0,
    }


def _guess(name: str, config: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """Return what was guessed, apart from what was known; empty if that is nothing."""
    width = config.get("hidden_size", config.get("dim"))
    guesses = []
    for key in ("num_attention_heads", "n_heads", "hidden_act", "activation", "layer_norm_eps"):
        if key in known or key not in config:
            continue
        value = config[key]
        if key.endswith("heads"):
            one, many = "1 head of {1} columns", "{0} heads of {1} columns"
            guesses.append(count_text(value, one, many, width // value))
        elif key.endswith("eps"):
            guesses.append(f"epsilon {number_text(value)}")
        else:
            guesses.append(f"the activation function {value}")
    if not guesses:
        return ""
    lacks = "a config.json without model_type" if known else "no config.json"
    return (
        f"{Path(name).name} has {lacks}, so sizes are read off its tensors. The rest is "
        f"guessed, and results are wrong if a guess is: {', '.join(guesses)}."
    )


def _heads(width: int) -> int:
    """Return the heads of published models of this width, or those of 64 columns or fewer."""
    if width in _HEADS_OF_WIDTH:
        return _HEADS_OF_WIDTH[width]
    size = next(size for size in range(min(HEAD_SIZE, width), 0, -1) if width % size == 0)
    return width // size
