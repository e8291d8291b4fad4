"""Reads a ``config.json`` with suspicion, before any library sees it."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.serialization import FLOAT_KEY, decode_floats

MAX_BYTES = 4_000_000
# Far above any published model; a size past it would only exhaust the machine.
MAX_SIZE = 50_000_000
MAX_LAYERS = 1_000
MAX_LABELS = 100_000
MAX_PARAMETERS = 10**12
MAX_DIGITS = 24
MOST_DIGITS = 4_000
MAX_DEPTH = 50

# Keys through which a configuration could have code fetched or run.
_CODE_KEYS = (
    "auto_map",
    "trust_remote_code",
    "custom_pipelines",
    "_attn_implementation",
    "_attn_implementation_internal",
    "attn_implementation",
    "_experts_implementation",
    "experts_implementation",
    "quantization_config",
    # Names of files to load the weights from, and of what to put into the model's place.
    "transformers_weights",
    "fusion_config",
    "kernel_config",
)
# What ``auto_map`` names apart from models.
_NOT_THE_MODEL = ("AutoTokenizer", "AutoProcessor", "AutoImageProcessor", "AutoFeatureExtractor")
# Attributes of any object: set on one, they would make it something else.
_PYTHONS_OWN = frozenset(dir(type) + dir(object)) - {"mro"}
# What follows is no list of what keys mean, as ``expressions.letters`` is, but of what is refused
# before anything is built: what is not in it is bounded by its name alone.
# Numbers that may be anything: ids, seeds, and the lengths that tokenizers leave open.
_NOT_SIZES = ("id", "ids", "seed", "length", "theta", "base")
_SIZE_WORDS = ("size", "dim", "embd", "layers", "layer", "heads", "head", "positions", "inner")
_LAYER_KEYS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "num_encoder_layers",
               "num_decoder_layers", "encoder_layers", "decoder_layers",
               "num_hidden_groups", "inner_group_num")  # fmt: skip
# Of these several numbers, one for each stage, are added up; a list of layers names their places.
_DEPTH_WORDS = ("depth", "depths", "blocks", "stages", "levels", "repeats", "cycles")
# Of an image, in metres.
_NOT_DEPTHS = ("max_depth", "min_depth")
_SIZE_KEYS = ("vocab_size", "hidden_size", "dim", "n_embd", "d_model")
# Scores are divided by the root of a head's width.
_HEAD_WIDTH_KEYS = ("d_kv", "head_dim", "d_head")
_OWN_HEAD_WIDTHS = ("qk_head_dim", "v_head_dim")
# Names of models of the library timm, which reads other places too where they say so.
_BACKBONE_KEYS = ("backbone", "architecture")
_DTYPE_KEYS = frozenset(("dtype", "torch_dtype"))
_DTYPES = frozenset(
    ("auto", "float32", "float64", "float16", "bfloat16", "float", "double", "half")
)
_HEAD_KEYS = ("num_attention_heads", "n_heads", "n_head", "nhead")


def read_configuration(path: Path, *, needs_type: bool = True) -> dict[str, Any]:
    """Return the configuration in ``path``, checked and stripped of what could run code.

    Args:
        path: the file.
        needs_type: whether one without a ``model_type`` is refused.

    Raises:
        UserError: the file cannot be read, is not a JSON object, or asks for absurd sizes.
    """
    return checked_configuration(path, _json(path), needs_type=needs_type)


class CodeSettings(Struct, frozen=True):
    """What is left out of a configuration because it could run code, and qualifies its figures.

    Attributes:
        classes: the classes in the checkpoint's own files that ``auto_map`` names for the model.
        quantization: ``quantization_config``, empty if there is none.
    """

    classes: tuple[str, ...] = ()
    quantization: Mapping[str, Any] = field(default_factory=dict)


def code_settings(path: Path) -> CodeSettings:
    """Return what ``read_configuration`` leaves out of the configuration in ``path``.

    Raises:
        UserError: the file cannot be read, or is no JSON.
    """
    data = _json(path)
    data = data if isinstance(data, dict) else {}
    own, quantization = data.get("auto_map"), data.get("quantization_config")
    classes = (
        name
        for key, named in (own.items() if isinstance(own, dict) else ())
        if not key.startswith(_NOT_THE_MODEL)
        for name in (named if isinstance(named, list) else [named])
        if isinstance(name, str)
    )
    return CodeSettings(
        tuple(dict.fromkeys(name.rpartition("--")[2] for name in classes)),
        quantization if isinstance(quantization, dict) else {},
    )


def has_type(config: Mapping[str, Any]) -> bool:
    """Tell whether a configuration says which architecture it is of."""
    return isinstance(config.get("model_type"), str)


def without_type(path: Path) -> UserError:
    """Return the error for a configuration that does not say so, and whose model is unknown."""
    return UserError(
        f"{path}: model_type is missing, so the architecture is unknown; add it, for example "
        '"model_type": "bert"'
    )


def checked_configuration(path: Path, data: Any, *, needs_type: bool = True) -> dict[str, Any]:
    """Return a configuration that was read from ``path``, checked and stripped likewise.

    Raises:
        UserError: it is not a JSON object, or asks for absurd sizes.
    """
    try:
        config = _without_code(data)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a valid JSON configuration: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"{path}: the configuration is not a JSON object")
    if needs_type and not has_type(config):
        raise without_type(path)
    _check(path, config)
    return dict(config)


def segment_kinds(config: Mapping[str, Any]) -> int:
    """Return how many kinds of segment (token types) a model has a table for, 0 if it has none."""
    kinds = config.get("type_vocab_size")
    return kinds if isinstance(kinds, int) and kinds > 0 else 0


def _json(path: Path) -> Any:
    content = read_small_file(path, MAX_BYTES, "a configuration")
    try:
        # Bare Infinity and NaN are no JSON; transformers wrote them until it had a form for them.
        return json.loads(content.decode("utf-8-sig"), parse_int=_whole)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a valid JSON configuration: {error}") from error


def _without_code(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        if list(value) == [FLOAT_KEY]:
            return decode_floats(value)
        if own := next((key for key in value if key in _PYTHONS_OWN), None):
            raise ValueError(f"{own} is a reserved Python name")
        kept = {k: _without_code(v, depth + 1) for k, v in value.items() if k not in _CODE_KEYS}
        for key in kept.keys() & _DTYPE_KEYS:
            if isinstance(kept[key], str):
                kept[key] = kept[key].removeprefix("torch.")
        return kept
    if isinstance(value, list):
        return [_without_code(item, depth + 1) for item in value]
    return value


def _check(path: Path, config: dict[str, Any]) -> None:
    for key, value in _numbers(config):
        word = key.rpartition("_")[2]
        if word in _NOT_SIZES:
            continue
        is_size = word in _SIZE_WORDS
        # -1 stands for "not set", as in DeBERTa's; a layer's place may count from the end.
        is_negative = is_size and value < -1 and not key.endswith("feature_layer")
        if is_negative or (value > MAX_SIZE and (is_size or isinstance(value, int))):
            raise UserError(f"{path}: {key} is {_shortened(value)}, out of bounds")
        if is_size and not math.isfinite(value):
            raise UserError(f"{path}: {key} is {value}, which is not a size")
        is_layers = key in _LAYER_KEYS or word == "layers"
        limit = MAX_LAYERS if is_layers else MAX_LABELS if key == "num_labels" else None
        if limit is not None and value > limit:
            raise UserError(f"{path}: {key} is {_shortened(value)}, above the limit of {limit}")
    for key, total in _depths(config):
        if total > MAX_LAYERS:
            raise UserError(
                f"{path}: {key} is {_shortened(total)}, above the limit of {MAX_LAYERS}"
            )
    for key, dtype in _dtypes(config):
        known = isinstance(dtype, str) and dtype in _DTYPES
        if dtype is not None and not known:
            raise UserError(f"{path}: {key} {dtype!r} is unknown")
    for key, name in _schemes(config):
        raise UserError(f"{path}: {key} {name!r} lies in another folder and is not read")
    _check_heads(path, config)
    _check_budget(path, config)


def _numbers(value: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of a configuration with its key, those of nested ones too."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _numbers(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, key)
    elif _is_number(value):
        yield key, value


def _depths(config: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield how often something is repeated, all stages together, with its key."""
    for table in _tables([config]):
        for key, each in table.items():
            if key.rpartition("_")[2] in _DEPTH_WORDS and key not in _NOT_DEPTHS:
                yield key, sum(number for _, number in _numbers(each))


def _schemes(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every name of a backbone that says where it lies, as ``local-dir:/somewhere``."""
    for table in _tables(config):
        for key in _BACKBONE_KEYS:
            if isinstance(name := table.get(key), str) and ":" in name:
                yield key, name


def _dtypes(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every dtype with its key; a number in a nested table is a word's in a vocabulary."""
    yield from ((key, config.get(key)) for key in _DTYPE_KEYS)
    for inner in _tables(list(config.values())):
        yield from ((k, v) for k, v in inner.items() if k in _DTYPE_KEYS and not _is_number(v))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every nested table."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _tables(inner)


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _shortened(value: float) -> str:
    """Write a number out, but not the hundreds of digits that JSON may hold."""
    text = str(value)
    return text if len(text) <= MAX_DIGITS else f"a number of {len(text)} digits"


def _check_heads(path: Path, config: dict[str, Any]) -> None:
    heads = [key for key in _HEAD_KEYS if key in config]
    for key in heads:
        if not _all_positive(config[key]):
            raise UserError(f"{path}: {key} is {config[key]!r}, but at least 1 head is needed")
    for key in (*_SIZE_KEYS, *_HEAD_WIDTH_KEYS):
        # Null is no vocabulary, as in models of speech, or a width that follows from others.
        if config.get(key) is None or (key in _HEAD_WIDTH_KEYS and _has_other_head_width(config)):
            continue
        if not _all_positive(config[key]):
            raise UserError(f"{path}: {key} is {config[key]!r}, not a positive integer")


def _has_other_head_width(config: dict[str, Any]) -> bool:
    """Tell whether keys and values have widths of their own (GLM-5 says 0 for the common one)."""
    return all(key in config and _all_positive(config[key]) for key in _OWN_HEAD_WIDTHS)


def _all_positive(value: Any) -> bool:
    """Tell whether it is a whole number above 0, or a list of them, one for each stage."""
    several = value if isinstance(value, list) and value else [value]
    return all(isinstance(one, int) and one >= 1 for one in several)


def _check_budget(path: Path, config: dict[str, Any]) -> None:
    """Refuse by arithmetic what could not be built: a layer holds some 12 D² elements."""
    sizes = [config[key] for key in _SIZE_KEYS[1:] if isinstance(config.get(key), int)]
    layers = [config[key] for key in _LAYER_KEYS if isinstance(config.get(key), int)]
    vocabulary = config.get("vocab_size")
    words = vocabulary if isinstance(vocabulary, int) else 0
    if (
        sizes
        and 12 * max(sizes) ** 2 * max(layers, default=1) + words * max(sizes) > MAX_PARAMETERS
    ):
        raise UserError(f"{path}: its sizes amount to more than {MAX_PARAMETERS:.0e} parameters")
