"""A configuration from weights alone, where names and shapes leave no doubt what model they are.

BERT, RoBERTa and ELECTRA name their layers alike. The tensors of one of them are all there and no
others, each of the shape that a handful of sizes ask for; otherwise nothing is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviewer.core.configuration import MAX_LAYERS
from bertviewer.core.weights.stored import Checkpoint

NOTE_KEY = "bertviewer_note"
"""The key that says, where no configuration was found, what was guessed in its place."""
HEAD_SIZE = 64

Shapes = Mapping[str, tuple[int, ...]]

_PREFIXES = ("bert.", "roberta.", "electra.", "")
_WORDS = "embeddings.word_embeddings.weight"
_POSITIONS = "embeddings.position_embeddings.weight"
_TYPES = "embeddings.token_type_embeddings.weight"
# Numbers that count up, which old checkpoints hold though nobody learns them.
_BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
_OLD_NAMES = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The sizes that all shapes follow from, by the letters of the formulas."""

    V: int
    E: int
    D: int
    L: int
    I: int  # noqa: E741 - the letter of the formulas
    P: int
    T: int


def rebuilt(checkpoint: Checkpoint, name: str) -> dict[str, Any] | None:
    """Return the configuration of a BERT, RoBERTa or ELECTRA by its tensors' names and shapes.

    ``None`` if they are not exactly such a model's. What no shape tells is taken to be as usual,
    and the text under ``NOTE_KEY`` says so: the number of heads (64 columns each, where that
    divides the width), the activation, and the normalisation's epsilon.

    Args:
        checkpoint: the tensors; their values are not read.
        name: what the model is called in that text.
    """
    every = {_modern(key): tensor.shape for key, tensor in checkpoint.tensors.items()}
    prefix = next((p for p in _PREFIXES if p + _WORDS in every), None)
    if prefix is None:
        return None
    base = {
        key.removeprefix(prefix): shape
        for key, shape in every.items()
        if key.startswith((f"{prefix}embeddings", f"{prefix}encoder.", f"{prefix}pooler."))
        and key.removeprefix(prefix) not in _BUFFERS
    }
    sizes = _sizes(base)
    if sizes is None or base != _expected(sizes, with_pooler="pooler.dense.weight" in base):
        return None
    return _configuration(name, _model_type(prefix, every, sizes), sizes, every)


def note_of(config: Mapping[str, Any]) -> str:
    """Return what there is to say of a model without a configuration; empty for any other."""
    note = config.get(NOTE_KEY, "")
    return note if isinstance(note, str) else ""


def _modern(key: str) -> str:
    for old, new in _OLD_NAMES:
        if key.endswith(old):
            return key.removesuffix(old) + new
    return key


def _sizes(base: Shapes) -> _Sizes | None:
    tables = [base.get(key, ()) for key in (_WORDS, _POSITIONS, _TYPES)]
    inner = base.get("encoder.layer.0.intermediate.dense.weight", ())
    if any(len(shape) != 2 or 0 in shape for shape in (*tables, inner)):
        return None
    numbers = {key.split(".")[2] for key in base if key.startswith("encoder.layer.")}
    if len(numbers) > MAX_LAYERS:
        return None
    (words, width), (positions, _), (types, _) = tables
    return _Sizes(words, width, inner[1], len(numbers), inner[0], positions, types)


def _expected(sizes: _Sizes, with_pooler: bool) -> Shapes:
    """Return all tensors of the base model, by name."""
    embedded, width, inner = sizes.E, sizes.D, sizes.I
    found = {
        _WORDS: (sizes.V, embedded),
        _POSITIONS: (sizes.P, embedded),
        _TYPES: (sizes.T, embedded),
        **_norm("embeddings", embedded),
    }
    if embedded != width:
        found |= _linear("embeddings_project", embedded, width)
    for layer in (f"encoder.layer.{number}" for number in range(sizes.L)):
        for part in ("query", "key", "value"):
            found |= _linear(f"{layer}.attention.self.{part}", width, width)
        found |= _linear(f"{layer}.attention.output.dense", width, width)
        found |= _norm(f"{layer}.attention.output", width)
        found |= _linear(f"{layer}.intermediate.dense", width, inner)
        found |= _linear(f"{layer}.output.dense", inner, width)
        found |= _norm(f"{layer}.output", width)
    if with_pooler:
        found |= _linear("pooler.dense", width, width)
    return found


def _linear(path: str, taken: int, given: int) -> dict[str, tuple[int, ...]]:
    return {f"{path}.weight": (given, taken), f"{path}.bias": (given,)}


def _norm(path: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{path}.LayerNorm.weight": (width,), f"{path}.LayerNorm.bias": (width,)}


def _model_type(prefix: str, every: Shapes, sizes: _Sizes) -> str:
    """Tell the three apart by the prefix, by their heads, and at last by their tables."""
    if prefix:
        return prefix.removesuffix(".")
    if sizes.E != sizes.D or any(key.startswith(_ELECTRA_HEADS) for key in every):
        return "electra"
    # RoBERTa has one kind of segment, and two positions more than the tokens that it takes.
    is_roberta = sizes.T == 1 and sizes.P > 2 and (sizes.P - 2) & (sizes.P - 3) == 0
    return "roberta" if is_roberta else "bert"


_ELECTRA_HEADS = ("discriminator_predictions.", "generator_predictions.")


def _configuration(name: str, model_type: str, sizes: _Sizes, every: Shapes) -> dict[str, Any]:
    heads = sizes.D // _head_size(sizes.D)
    eps = 1e-5 if model_type == "roberta" else 1e-12
    config: dict[str, Any] = {
        "model_type": model_type,
        "vocab_size": sizes.V,
        "hidden_size": sizes.D,
        "num_hidden_layers": sizes.L,
        "num_attention_heads": heads,
        "intermediate_size": sizes.I,
        "max_position_embeddings": sizes.P,
        "type_vocab_size": sizes.T,
        "hidden_act": "gelu",
        "layer_norm_eps": eps,
        "pad_token_id": min(1 if model_type == "roberta" else 0, sizes.V - 1),
    }
    if model_type == "electra":
        config["embedding_size"] = sizes.E
    labels = every.get("classifier.weight") or every.get("classifier.out_proj.weight")
    if labels is not None and len(labels) == 2:
        config["num_labels"] = labels[0]
    config[NOTE_KEY] = (
        f"{Path(name).name} has no config.json: the sizes are those of its tensors. No tensor "
        f"tells the rest, so it is guessed: {heads} heads of {sizes.D // heads} columns, the "
        f"activation gelu, epsilon {eps:g}."
    )
    return config


def _head_size(width: int) -> int:
    """Return 64 columns, or the next smaller number that divides the width."""
    return next(size for size in range(min(HEAD_SIZE, width), 0, -1) if width % size == 0)
