"""Reading and validating a ``config.json``, before any library sees it."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bertviewer.core.sources.config_keys import CONFIG_KEYS
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.serialization import FLOAT_KEY, decode_floats

MAX_BYTES = 4_000_000
# Far above any published model: a larger size would only use up the machine's memory.
MAX_SIZE = 50_000_000
MAX_LAYERS = 1_000
MAX_LABELS = 100_000
MAX_PARAMETERS = 10**12
MAX_SHOWN_DIGITS = 24  # of a number in a message
MAX_DIGITS = 4_000  # of an integer in the file
MAX_DEPTH = 50

# Keys through which transformers could download or run code.
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
    # Names of files to load the weights from, and of replacements for modules.
    "transformers_weights",
    "fusion_config",
    "kernel_config",
)
_NOT_THE_MODEL = ("AutoTokenizer", "AutoProcessor", "AutoImageProcessor", "AutoFeatureExtractor")
"""Entries of ``auto_map`` that are not models."""
_RESERVED = frozenset(dir(type) + dir(object)) - {"mro"}
"""Attributes of any Python object: a configuration with one of them would no longer work as one."""

# The rules below limit any key by its last word, before anything is built.
_NOT_SIZES = ("id", "ids", "seed", "length", "theta", "base")
_SIZE_WORDS = ("size", "dim", "embd", "layers", "layer", "heads", "head", "positions", "inner")
_DEPTH_WORDS = ("depth", "depths", "blocks", "stages", "levels", "repeats", "cycles")
"""Numbers of these, one for each stage, are added up; a list of layers has their indices."""
_NOT_DEPTHS = ("max_depth", "min_depth")  # of an image, in metres
_LAYER_KEYS = (*CONFIG_KEYS["layers"], *CONFIG_KEYS["groups"])
_HEAD_KEYS = CONFIG_KEYS["heads"]
_WIDTH_KEYS = CONFIG_KEYS["width"]
_HEAD_WIDTH_KEYS = (*CONFIG_KEYS["head size"], "d_head")  # attention divides by its square root
_OWN_HEAD_WIDTHS = ("qk_head_dim", "v_head_dim")
_BACKBONE_KEYS = ("backbone", "architecture")
"""Models of the library timm, which reads a name like ``local-dir:/folder`` from the disk."""
_DTYPE_KEYS = frozenset(("dtype", "torch_dtype"))
_DTYPES = frozenset(
    ("auto", "float32", "float64", "float16", "bfloat16", "float", "double", "half")
)


def read_configuration(path: Path, *, needs_type: bool = True) -> dict[str, Any]:
    """Return a configuration, validated, without keys through which code could be run.

    Args:
        path: the file.
        needs_type: whether ``model_type`` is required.

    Raises:
        UserError: the file cannot be read, is not a JSON object, or has sizes out of bounds.
    """
    return validate_configuration(path, _json(path), needs_type=needs_type)


class RemovedSettings(Struct, frozen=True):
    """Removed settings that say how the model differs from the one that is shown.

    Attributes:
        classes: model classes in the checkpoint's own Python files, from ``auto_map``.
        quantization: ``quantization_config``, empty without one.
    """

    classes: tuple[str, ...] = ()
    quantization: Mapping[str, Any] = field(default_factory=dict)


def removed_settings(path: Path) -> RemovedSettings:
    """Return settings that ``read_configuration`` removes.

    Raises:
        UserError: the file cannot be read, or is not JSON.
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
    return RemovedSettings(
        tuple(dict.fromkeys(name.rpartition("--")[2] for name in classes)),
        quantization if isinstance(quantization, dict) else {},
    )


def has_type(config: Mapping[str, Any]) -> bool:
    """Tell whether a configuration has a ``model_type``."""
    return isinstance(config.get("model_type"), str)


def missing_type_error(path: Path) -> UserError:
    """Return the error for a configuration without a ``model_type``."""
    return UserError(
        f"{path}: model_type is missing, so the architecture is unknown; add it, for example "
        '"model_type": "bert"'
    )


def validate_configuration(path: Path, data: Any, *, needs_type: bool = True) -> dict[str, Any]:
    """Return a configuration that was read from ``path`` as ``read_configuration`` does.

    Raises:
        UserError: it is not a JSON object, or has sizes out of bounds.
    """
    try:
        config = _without_code(data)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a valid JSON configuration: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"{path}: the configuration is not a JSON object")
    if needs_type and not has_type(config):
        raise missing_type_error(path)
    _check(path, config)
    return dict(config)


def segment_rows(config: Mapping[str, Any]) -> int:
    """Return the number of rows of the token type embedding, 0 without one."""
    kinds = config.get("type_vocab_size")
    return kinds if isinstance(kinds, int) and kinds > 0 else 0


def _json(path: Path) -> Any:
    content = read_small_file(path, MAX_BYTES, "a configuration")
    try:
        # json, as transformers once wrote Infinity and NaN, which msgspec does not read.
        return json.loads(content.decode("utf-8-sig"), parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a valid JSON configuration: {error}") from error


def _without_code(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        if list(value) == [FLOAT_KEY]:
            return decode_floats(value)
        if own := next((key for key in value if key in _RESERVED), None):
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
    for table in _tables(config):
        for key, value in table.items():
            if cause := _cause(key, value, is_nested=table is not config):
                raise UserError(f"{path}: {key} {cause}")
    _check_heads(path, config)
    _check_budget(path, config)


def _cause(key: str, value: Any, *, is_nested: bool) -> str:
    """Return why an entry is refused, to follow its key, or an empty string."""
    word = key.rpartition("_")[2]
    if word not in _NOT_SIZES:
        numbers = _numbers(value)
        found = next(filter(None, (_bounds_cause(key, word, number) for number in numbers)), "")
        if found:
            return found
    if word in _DEPTH_WORDS and key not in _NOT_DEPTHS:
        nested = (inner for table in _tables(value) for inner in table.values())
        total = sum(number for one in (value, *nested) for number in _numbers(one))
        if total > MAX_LAYERS:
            return _above_limit(total, MAX_LAYERS)
    if key in _BACKBONE_KEYS and isinstance(value, str) and ":" in value:
        return f"{value!r} lies in another folder and is not read"
    # A number in a nested table is the id of the word "dtype" in a vocabulary.
    if key in _DTYPE_KEYS and value is not None and not (is_nested and _is_number(value)):
        return "" if isinstance(value, str) and value in _DTYPES else f"{value!r} is unknown"
    return ""


def _bounds_cause(key: str, word: str, number: float) -> str:
    is_size = word in _SIZE_WORDS
    # -1 means "not set", as in DeBERTa; the index of a layer may count from the end.
    is_negative = is_size and number < -1 and not key.endswith("feature_layer")
    if is_negative or (number > MAX_SIZE and (is_size or isinstance(number, int))):
        return f"is {_shortened(number)}, out of bounds"
    if is_size and not math.isfinite(number):
        return f"is {number}, which is not a size"
    if (key in _LAYER_KEYS or word == "layers") and number > MAX_LAYERS:
        return _above_limit(number, MAX_LAYERS)
    if key == "num_labels" and number > MAX_LABELS:
        return _above_limit(number, MAX_LABELS)
    return ""


def _above_limit(number: float, limit: int) -> str:
    return f"is {_shortened(number)}, above the limit of {limit}"


def _numbers(value: Any) -> Iterator[float]:
    """Yield a number, or those in nested lists; tables in them have keys of their own."""
    if isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif _is_number(value):
        yield value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all nested tables, ``value`` included if it is one."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _tables(inner)


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _shortened(value: float) -> str:
    text = str(value)
    return text if len(text) <= MAX_SHOWN_DIGITS else f"a number of {len(text)} digits"


def _check_heads(path: Path, config: dict[str, Any]) -> None:
    for key in _HEAD_KEYS:
        if key in config and not _all_positive(config[key]):
            raise UserError(f"{path}: {key} is {config[key]!r}, but at least 1 head is needed")
    # Some models have other widths for keys and values (GLM-5 has 0 for the common one).
    has_own = all(key in config and _all_positive(config[key]) for key in _OWN_HEAD_WIDTHS)
    for key in ("vocab_size", *_WIDTH_KEYS, *(() if has_own else _HEAD_WIDTH_KEYS)):
        # null: no vocabulary, as in speech models, or a width that follows from others.
        if config.get(key) is not None and not _all_positive(config[key]):
            raise UserError(f"{path}: {key} is {config[key]!r}, not a positive integer")


def _all_positive(value: Any) -> bool:
    """Tell whether it is a positive integer, or a list of them, one for each stage."""
    several = value if isinstance(value, list) and value else [value]
    return all(isinstance(one, int) and one >= 1 for one in several)


def _check_budget(path: Path, config: dict[str, Any]) -> None:
    """Refuse a model that is too large to build: a layer has about 12 D² parameters."""
    widths = [config[key] for key in _WIDTH_KEYS if isinstance(config.get(key), int)]
    layers = [config[key] for key in _LAYER_KEYS if isinstance(config.get(key), int)]
    vocabulary = config.get("vocab_size")
    words = vocabulary if isinstance(vocabulary, int) else 0
    width = max(widths, default=0)
    if 12 * width**2 * max(layers, default=1) + words * width > MAX_PARAMETERS:
        raise UserError(f"{path}: its sizes amount to more than {MAX_PARAMETERS:.0e} parameters")
