"""Configuration keys that a model's code never reads.

The bytecode of the model's classes, and of the functions that they call, is searched for reads of
configuration attributes. Nothing is executed: recording a forward pass would take seconds.
"""

import ast
import copy
import dis
import inspect
import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from msgspec import Struct

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.configurations import config_value, sub_configs
from bertviewer.core.sources.config_keys import is_common_key
from bertviewer.core.util.errors import Stopped
from bertviewer.core.util.text import listed, shortened

_GENERIC = (
    "transformers.modeling_utils",
    "transformers.configuration_utils",
    "transformers.utils",
    "transformers.generation",
    "transformers.integrations",
    "transformers.core_model_loading",
    "transformers.cache_utils",
    "transformers.pytorch_utils",
    "transformers.loss",
)
"""Modules that handle any model: what they read does not affect what a model computes."""
_MODELS = ("transformers.models.", "bertviewer.core.")
_ROPE_KEYS = ("rope_theta", "rope_scaling")
_ROPE_PARAMETERS = "rope_parameters"
"""transformers converts ``_ROPE_KEYS`` to this key."""
_MECHANISMS = re.compile(
    r"alibi|rope|rotary|relative|position_embedding|position_bias|pos_emb|pos_enc|prune|window"
    r"|sliding|local_attention|attention_type|attn_type|soft_?cap|qk_norm|qk_layernorm|q_norm"
    r"|logn|is_decoder|is_causal|cross_attention|sparse|parallel_residual|parallel_attn|pre_?norm"
    r"|post_?norm|norm_type|rms_norm|gated|glu|scale_attn|attention_scale|attention_multiplier"
    r"|multi_query|num_key_value_heads|head_dim|n_heads?$|num_(attention_)?heads|layer_?scale"
    r"|moe|experts|router|dilation"
)
"""Words in keys that select a way of computing."""
_SYNONYMS = (
    {"alibi"},
    {"rope", "rotary"},
    {"sinusoidal"},
    {"window", "sliding", "local"},
    {"sparse"},
    {"gated", "glu"},
    {"moe", "experts", "router"},
)
"""A model whose code has one of these words has the mechanism, whatever its keys are called."""
_ACTIVATIONS = re.compile(r"(^|_)act(ivation)?(_fn|_function|_type)?$|hidden_act")
_HEADS, _ANY = re.compile(r"heads?$"), re.compile("")
_ORDINARY = frozenset(("absolute", "default", "none", "eager", "learned", "full", "standard"))
"""Values that select what every model does."""
_DECLARATION = re.compile(r"^    (\w+): [^=\n]*= (.+)$", re.MULTILINE)
_MAX_TEXT = 60
_MAX_KEYS = 10
_MISSING = object()

_NOT_READ = "which {0} does not use"
_NOT_KNOWN = "a value that {0} does not support"


class UnusedKeys(Struct, frozen=True):
    """Which keys of its configuration a model ignores.

    Attributes:
        unused: those that may affect a computation, with their values. Keys of nested
            configurations are prefixed with their path and a dot. Keys that the configuration
            class discards are included if a notice is about them.
        notices: sentences on keys that select a way of computing that the model does not have.
    """

    unused: Mapping[str, Any]
    notices: tuple[str, ...]


def find_unused_keys(
    module: torch.nn.Module, config: Any, data: Mapping[str, Any], plain: Mapping[str, Any]
) -> UnusedKeys:
    """Return which keys a model does not read.

    Args:
        module: the model; it may be on the meta device.
        config: its configuration object.
        data: the JSON that the object was built from.
        plain: the object as JSON types.
    """
    code = _cached_reads(
        frozenset(type(part) for part in module.modules()),
        frozenset(type(part) for _, part in sub_configs(config)),
    )
    unused: dict[str, Any] = {}
    complaints: dict[str, list[str]] = {}
    for path, part in sub_configs(config):
        given, shown = _nested_at(data, path), _nested_at(plain, path)
        values = {key: value for key, value in vars(part).items() if not key.startswith("_")}
        found = _SubConfig(part, values, code)
        for key in [key for key in values if key in shown]:
            is_nested = isinstance(values[key], transformers.PreTrainedConfig)
            if not (found.is_read(key) or is_nested or is_common_key(key)):
                unused[".".join((*path, key))] = shown[key]
        for key in given:
            value = values.get(key, given[key])
            reason = found.complaint(key, value)
            if reason and not _is_implied(config, path, given, key, value):
                complaints.setdefault(reason, []).append(_shown(".".join((*path, key)), value))
                if key not in values and not path:
                    unused[key] = value
    name = type(module).__name__
    notices = (_notice(keys, reason.format(name)) for reason, keys in complaints.items())
    return UnusedKeys(unused, tuple(notices))


def _shown(key: str, value: Any) -> str:
    return f"{shortened(key, _MAX_TEXT)} = {shortened(json.dumps(value, default=str), _MAX_TEXT)}"


def _notice(keys: list[str], reason: str) -> str:
    return (
        f"The configuration has {listed(keys, _MAX_KEYS)}, {reason}: if the model was trained "
        "with it, the results shown are not those of the trained model."
    )


class _SubConfig(Struct, frozen=True, eq=False):
    """A configuration object, possibly nested in another, and what the model's code reads."""

    config: Any
    values: Mapping[str, Any]
    code: "_CodeReads"

    def is_read(self, key: str) -> bool:
        """Return whether the code reads the key or one of its aliases."""
        names = {key, *_ROPE_KEYS} if key == _ROPE_PARAMETERS else {key}
        for alias, own in getattr(type(self.config), "attribute_map", {}).items():
            if own in names or alias in names:
                names |= {own, alias}
        return not names.isdisjoint(self.code.read)

    def complaint(self, key: str, value: Any) -> str:
        """Return what is wrong with a key, ``""`` if the model computes what it selects."""
        declared = inspect.getattr_static(type(self.config), key, _MISSING)
        if _is_off(value) or is_common_key(key) or value == declared:
            return ""
        mechanism = _MECHANISMS.search(key)
        if self.is_read(key):
            is_name = mechanism is not None and isinstance(value, str)
            return _NOT_KNOWN if is_name and value not in self.code.constants else ""
        if _ACTIVATIONS.search(key):
            return "" if value in self._other_values(key, str) else _NOT_READ
        if mechanism is not None:
            if _HEADS.search(key) and value in self._other_values(key, int, _HEADS):
                return ""
            return (
                "" if self._has_mechanism(value if isinstance(value, str) else key) else _NOT_READ
            )
        if declared is not _MISSING or (isinstance(value, int) and not isinstance(value, bool)):
            return ""  # sizes are those of the tensors, or nothing fits
        if isinstance(value, str) and value in self._other_values(key, str):
            return ""
        elsewhere = _declared_defaults(key)
        return _NOT_READ if elsewhere and value not in elsewhere else ""

    def _has_mechanism(self, text: str) -> bool:
        words = set(re.findall(r"[a-z]+", text.lower()))
        return any(words & same and self.code.words & same for same in _SYNONYMS)

    def _other_values(self, key: str, kind: type, like: re.Pattern[str] = _ANY) -> list[Any]:
        """Return the values of a type that the model reads from other keys that match a pattern."""
        return [
            value
            for other, value in self.values.items()
            if other != key and type(value) is kind and like.search(other) and self.is_read(other)
        ]


def _is_off(value: Any) -> bool:
    """Return whether a value disables a mechanism or selects what every model does."""
    if isinstance(value, Mapping):
        return all(_is_off(inner) for inner in value.values())
    return not value or value == -1 or (isinstance(value, str) and value.lower() in _ORDINARY)


def _is_implied(
    config: Any, path: tuple[str, ...], given: Mapping[str, Any], key: str, value: Any
) -> bool:
    """Return whether a key only repeats a default, or follows from the other keys.

    Some classes write what they derive from other keys, and what earlier versions used.
    """
    if _value_in_new(type(config), {}, (*path, key)) == value:
        return True
    part = config
    for name in path:
        part = config_value(part, name)
    rest = {name: one for name, one in given.items() if name not in (key, "model_type")}
    return bool(_value_in_new(type(part), rest, (key,)) == value)


def _value_in_new(kind: type, values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return an attribute of a configuration built from ``values``, or ``_MISSING``."""
    try:
        found: Any = kind(**copy.deepcopy(dict(values)))
    except Stopped:
        raise
    except Exception:  # noqa: BLE001 - configuration classes raise anything if a key is missing
        return _MISSING
    for name in path:
        found = config_value(found, name, _MISSING)
    return found


def _nested_at(data: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    for key in path:
        inner = data.get(key)
        data = inner if isinstance(inner, Mapping) else {}
    return data


class _CodeReads(Struct, frozen=True, eq=False):
    """What the code of some classes reads, including the functions that it refers to.

    Attributes:
        read: names of configuration attributes.
        constants: strings.
        words: in the names of the family's own code, not of code that families share.
    """

    read: set[str]
    constants: set[str]
    words: set[str]


@lru_cache(maxsize=256)
def _cached_reads(kinds: frozenset[type], config_kinds: frozenset[type]) -> _CodeReads:
    """Return what the code of a model's classes and of its configuration classes reads."""
    model, config = _search(kinds, is_config=False), _search(config_kinds, is_config=True)
    read = model.read | config.read
    if _ROPE_PARAMETERS in read:
        read.update(_ROPE_KEYS)
    # Configuration classes name mechanisms that only some of their models have.
    words = {part for word in model.words for part in re.findall(r"[a-z]+", word.lower())}
    return _CodeReads(read, model.constants | config.constants, words)


def _search(kinds: Collection[type], *, is_config: bool) -> _CodeReads:
    """Search the methods of classes; in a configuration class, ``self`` is the configuration."""
    found, seen = _CodeReads(set(), set(), set()), set[CodeType]()
    pending = [(method, is_config) for kind in kinds for method in _methods(kind, is_config)]
    while pending:
        function, is_method = pending.pop()
        for code in _nested_codes(function.__code__):
            if code in seen:
                continue
            seen.add(code)
            constants = set(_strings(code.co_consts))
            found.constants.update(constants)
            found.read.update(_attributes_read(code, ("self",) if is_method else ()))
            if is_method:  # and what it takes from its keyword arguments by name
                found.read.update(constants)
            if function.__module__.startswith(_MODELS):
                found.words.update(code.co_names, code.co_varnames, (code.co_name,))
            pending += [(other, False) for other in _referenced(code, function)]
    return found


def _methods(kind: type, is_config: bool) -> Iterator[FunctionType]:
    """Yield the methods of a class and of those of its bases that are not generic."""
    for base in kind.__mro__:
        # The base class of configurations handles rotary positions for all families.
        if base.__module__.startswith(_MODELS) or (not is_config and _is_specific(base.__module__)):
            for name, found in vars(base).items():
                plain = found.__func__ if isinstance(found, staticmethod | classmethod) else found
                plain = plain.fget if isinstance(plain, property) else plain
                plain = inspect.unwrap(plain) if callable(plain) else plain
                if isinstance(plain, FunctionType) and name != "_init_weights":
                    yield plain


def _referenced(code: CodeType, function: FunctionType) -> Iterator[FunctionType]:
    """Yield the functions, and the methods of classes, that a function's code refers to by name."""
    for name in code.co_names:
        found = function.__globals__.get(name)
        for one in found.values() if isinstance(found, dict) else [found]:
            plain = inspect.unwrap(one) if callable(one) else one
            if isinstance(plain, FunctionType) and _is_specific(plain.__module__):
                yield plain
            elif isinstance(plain, type) and not issubclass(
                plain, torch.nn.Module | transformers.PreTrainedConfig
            ):
                yield from _methods(plain, is_config=False)


def _is_specific(module: str) -> bool:
    is_ours = module.startswith(("transformers.", "bertviewer.core."))
    return is_ours and not module.startswith(_GENERIC)


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested_codes(constant)


def _strings(constants: tuple[Any, ...] | frozenset[Any]) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            yield from _strings(constant)


# Instructions that read an attribute, and those that may stand between loading object and name.
_USES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_CONST")
_BETWEEN = ("CACHE", "EXTENDED_ARG", "PRECALL", "PUSH_NULL")


@lru_cache(maxsize=1 << 14)
def _attributes_read(code: CodeType, owners: tuple[str, ...]) -> frozenset[str]:
    """Return the attributes read from names that contain "config", or are one of ``owners``.

    Matches ``config.NAME`` and ``getattr(config, "NAME")``: loading the name follows loading the
    object.
    """
    is_config, found = False, set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in _BETWEEN:
            continue
        name = instruction.argval
        if is_config and isinstance(name, str) and instruction.opname in _USES:
            found.add(name)
        names = name if isinstance(name, tuple) else (name,)
        is_config = instruction.opname.startswith("LOAD") and any(
            isinstance(one, str) and ("config" in one or one in ("cfg", *owners)) for one in names
        )
    return frozenset(found)


def _declared_defaults(key: str) -> tuple[Any, ...]:
    """Return the defaults that transformers' configuration classes declare for a key.

    Empty if none has it, or without sources, as in a packaged program.
    """
    return tuple(map(_literal, _declarations().get(key, ())))


@lru_cache(maxsize=1)
def _declarations() -> Mapping[str, list[str]]:
    """Return the source text of the defaults, by key."""
    found: dict[str, list[str]] = {}
    spec = find_spec("transformers")
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder, "models").glob("*/configuration_*.py")):
            for key, text in _DECLARATION.findall(file.read_text(encoding="utf-8")):
                found.setdefault(key, []).append(text)
    return found


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
