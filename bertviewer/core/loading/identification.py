"""Identification of a checkpoint's model: its head, model type, or whole configuration.

A configuration follows from weights alone for BERT, RoBERTa, ELECTRA and DistilBERT: the names and
shapes of all tensors must be those of a transformers model with the same sizes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta, task_classes
from bertviewer.core.checkpoints.load_report import without_wrappers
from bertviewer.core.checkpoints.quantization import packed_weights
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.loading.matching import match
from bertviewer.core.sources.configuration import MAX_LAYERS
from bertviewer.core.sources.model_source import BASE, Task
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.numbers import count_text, number_text

Shapes = Mapping[str, tuple[int, ...]]

_WORDS = "embeddings.word_embeddings.weight"
_POSITIONS = "embeddings.position_embeddings.weight"
_TYPES = "embeddings.token_type_embeddings.weight"
_BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
"""Not learned, but stored in old checkpoints."""
_MODEL_TYPES = ("bert", "roberta", "electra", "distilbert")
_OLD_NAMES = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))
_ELECTRA_HEADS = ("discriminator_predictions.", "generator_predictions.")
_HEAD_SIZE = 64
_HEADS_OF_WIDTH: Mapping[int, int] = {128: 2, 256: 4, 312: 12, 384: 12, 512: 8, 768: 12, 1024: 16}
"""Number of heads of published models by width: MiniLM's and TinyBERT's are narrower than 64."""


def saved_head(data: Mapping[str, Any], name: str, checkpoint: Checkpoint) -> tuple[Task, str]:
    """Return the task whose class ``architectures`` names, if the checkpoint has its tensors.

    Otherwise the base model, and a sentence that says why unless the base model is named.

    Raises:
        UserError: the configuration is bad, or the model cannot be built.
    """
    named = _architecture_of(data)
    config = build_config(data, name)
    kinds = {task: kind.__name__ for task, kind in task_classes(config)}
    tasks = [task for task, kind in kinds.items() if kind == named]
    if BASE in tasks or not named:
        return BASE, ""
    shown = f"{kinds.get(BASE, 'the base model')} is shown without a head."
    if not tasks:
        return BASE, (
            f"config.json names {named}, which is not one of the heads that can be opened for "
            f"model type {config.model_type!r}: {shown}"
        )
    # A class may have several tasks; pretraining is the last choice.
    task = min(tasks, key=lambda task: task.name == "pretraining")
    try:
        module: Any = build_on_meta(config, task, name)
        missing = match(module, checkpoint).missing
    except UserError as error:
        why = str(error).partition(": ")[2] or str(error)
        return (
            BASE,
            f"config.json names {named}, which does not fit the checkpoint ({why}): {shown}",
        )
    of_base: set[str] = set()
    if missing and BASE in kinds:
        base = dict(build_on_meta(config, BASE, name).named_parameters())
        of_base = {*base, *(f"{module.base_model_prefix}.{one}" for one in base)}
    lacking = [one for one in missing if one not in of_base]
    if not lacking:
        return task, ""
    return BASE, (
        f"config.json names {named}, but the checkpoint lacks tensors of that head "
        f"({lacking[0]}): {shown}"
    )


def named_type(data: Mapping[str, Any]) -> str:
    """Return the model type of the class that ``architectures`` names, or ``""``."""
    named, tables = _architecture_of(data), vars(transformers.models.auto.modeling_auto)
    return next(
        (
            model_type
            for name, table in tables.items()
            if name.endswith("_MAPPING_NAMES")
            for model_type, kinds in table.items()
            if named in ((kinds,) if isinstance(kinds, str) else kinds)
        ),
        "",
    )


def _architecture_of(data: Mapping[str, Any]) -> str:
    names = data.get("architectures")
    first = names[0] if isinstance(names, list) and names else ""
    return first if isinstance(first, str) and first.isidentifier() else ""


def configuration_from_weights(
    checkpoint: Checkpoint, name: str, known: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], str] | None:
    """Return the configuration that follows from a checkpoint, and a notice on what is guessed.

    Shapes do not determine the number of heads, the activation and the epsilon of LayerNorm: they
    are those of published models with this width.

    Args:
        checkpoint: the tensors; their values are not read.
        name: the model's name in the notice.
        known: a configuration without a model type; its values take precedence.

    Returns:
        ``None`` if the tensors are not exactly those of a BERT, RoBERTa, ELECTRA or DistilBERT.
    """
    packed = packed_weights(checkpoint.tensors)
    every = {
        _modern_name(key): tensor.shape
        for key, tensor in checkpoint.tensors.items()
        if packed.get(key, key) == key  # not the scales of quantized weights
    }
    table = next((key for key in every if f".{key}".endswith(f".{_WORDS}")), None)
    if table is None:
        return None
    *outer, own = table.removesuffix(_WORDS).removesuffix(".").split(".")
    if own not in _MODEL_TYPES:
        outer, own = [*outer, own], ""
    added = "".join(f"{part}." for part in outer if part)  # prefix of a wrapper, such as "module."
    every = {key.removeprefix(added): shape for key, shape in every.items()}
    prefix = f"{own}." if own else ""
    parts = tuple(prefix + part for part in ("embeddings", "encoder.", "transformer.", "pooler."))
    base = {
        key.removeprefix(prefix): shape
        for key, shape in every.items()
        if key.startswith(parts) and key.removeprefix(prefix) not in _BUFFERS
    }
    candidates = _distilbert_config(base), _bert_config(own, base, every)
    config = next((one for one in candidates if one and _has_shapes(one, own, base)), None)
    if config is None:
        return None
    labels = every.get("classifier.weight") or every.get("classifier.out_proj.weight")
    if labels is not None and len(labels) == 2:
        config["num_labels"] = labels[0]
    known = {key: value for key, value in (known or {}).items() if value is not None}
    notice = _guess_notice(name, config, known)
    return config | known | {"model_type": config["model_type"]}, notice


def _has_shapes(config: Mapping[str, Any], named: str, base: Shapes) -> bool:
    """Return whether a configuration's model has exactly these tensors.

    ``named`` is the model type in the tensors' names, if any.
    """
    if named not in (config["model_type"], ""):
        return False
    try:
        model = build_on_meta(build_config(config, "checkpoint"), BASE, "checkpoint")
    except UserError:
        return False
    return base == {
        key: tuple(tensor.shape)
        for key, tensor in model.named_parameters()
        if "pooler.dense.weight" in base or not key.startswith("pooler.")
    }


def _modern_name(key: str) -> str:
    key = without_wrappers(key)
    for old, new in _OLD_NAMES:
        if key.endswith(old):
            return key.removesuffix(old) + new
    return key


def _matrices(base: Shapes, *names: str) -> list[tuple[int, ...]] | None:
    """Return the shapes of these tensors, if all exist and are matrices."""
    shapes = [base.get(name, ()) for name in names]
    return None if any(len(shape) != 2 or 0 in shape for shape in shapes) else shapes


def _layer_count(base: Shapes, prefix: str) -> int | None:
    count = len({key.split(".")[2] for key in base if key.startswith(prefix)})
    return count if count <= MAX_LAYERS else None


def _bert_config(named: str, base: Shapes, every: Shapes) -> dict[str, Any] | None:
    """Return the sizes of a BERT, RoBERTa or ELECTRA, which differ in heads or embeddings."""
    found = _matrices(base, _WORDS, _POSITIONS, _TYPES, "encoder.layer.0.intermediate.dense.weight")
    layers = _layer_count(base, "encoder.layer.")
    if found is None or layers is None:
        return None
    (words, embedded), (positions, _), (types, _), (inner, width) = found
    model_type = named
    if not named:
        is_electra = embedded != width or any(key.startswith(_ELECTRA_HEADS) for key in every)
        # RoBERTa has one segment, and two positions more than it accepts tokens.
        is_roberta = types == 1 and positions > 2 and (positions - 2) & (positions - 3) == 0
        model_type = "electra" if is_electra else "roberta" if is_roberta else "bert"
    config: dict[str, Any] = {
        "model_type": model_type,
        "vocab_size": words,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": _head_count(width),
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


def _distilbert_config(base: Shapes) -> dict[str, Any] | None:
    found = _matrices(base, _WORDS, _POSITIONS, "transformer.layer.0.ffn.lin1.weight")
    layers = _layer_count(base, "transformer.layer.")
    if found is None or layers is None:
        return None
    (words, width), (positions, _), (inner, _) = found
    return {
        "model_type": "distilbert",
        "vocab_size": words,
        "dim": width,
        "n_layers": layers,
        "n_heads": _head_count(width),
        "hidden_dim": inner,
        "max_position_embeddings": positions,
        "activation": "gelu",
        "pad_token_id": 0,
    }


def _guess_notice(name: str, config: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """Return a sentence on the values that are guessed and not known, or ``""``."""
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


def _head_count(width: int) -> int:
    """Return the number of heads of published models of this width, or of 64 columns or fewer."""
    if width in _HEADS_OF_WIDTH:
        return _HEADS_OF_WIDTH[width]
    size = next(size for size in range(min(_HEAD_SIZE, width), 0, -1) if width % size == 0)
    return width // size
