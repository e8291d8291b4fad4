"""Structs to JSON and back: decoding by type, size limits, special floats, partial equality.

Data that does not match the types is refused with its location. Nothing in a document names a
class, a function or a file.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, ClassVar, Self, TypeVar

import msgspec
from msgspec import Meta, Struct, ValidationError
from msgspec.structs import fields

Scalar = str | int | float | bool | None
NonNegative = Annotated[int, Meta(ge=0)]
"""An integer that is checked when it is decoded."""
FiniteFloat = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
NonNegativeFloat = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
"""A checked float of at least 0 that is not infinite."""

INTEGER_LIMIT = 2**63
"""The smallest integer that is refused; no count is as large, and plots need floats."""
MAX_CONTAINERS = 3_000_000
"""Objects and arrays of a document; the largest tokenizers have 0.6 million.

24 MB of empty arrays would take 1 GB of memory, and seconds with the GIL held.
"""

_T = TypeVar("_T")
_Struct = TypeVar("_Struct", bound=Struct)

Hook = Callable[[type, Any], Any]
"""Converts plain data to a type that JSON does not have; raises ``ValueError``."""

_PLAIN = frozenset((str, int, float, bool, type(None)))
FLOAT_KEY = "__float__"
"""The only key of an object that represents a number that JSON does not have."""
_FLOAT_NAMES = ("Infinity", "-Infinity", "NaN")
_FLOAT_MARK = f'"{FLOAT_KEY}"'.encode()
_LONG_NUMBER = re.compile(rb"\d{19}")


def to_json(value: Any) -> Any:
    """Return a Struct, and everything in it, as JSON types."""
    if value.__class__ in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return list(map(to_json, value))
    if isinstance(value, Struct):
        return struct_to_json(value)
    if isinstance(value, Mapping):
        return {key: to_json(inner) for key, inner in value.items()}
    return value


def struct_to_json(value: Struct) -> dict[str, Any]:
    """Return the fields of a Struct as JSON types; if it has ``JSON``, those listed there."""
    return {
        key: to_json(getattr(value, name))
        for name, key, unless, default in _keys(value.__class__)
        if not unless or getattr(value, unless) != default
    }


@cache
def _keys(kind: type[Struct]) -> list[tuple[str, str, str, Any]]:
    """Return name and key of each field, and the field whose default leaves it out, if any."""
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    default = dict(zip(reversed(names), reversed(defaults), strict=False))
    renamed = dict(zip(names, kind.__struct_encode_fields__, strict=True))
    entries = (entry.partition("?") for entry in (getattr(kind, "JSON", "").split() or names))
    return [
        (name, renamed.get(name, name), unless, default.get(unless)) for name, _, unless in entries
    ]


def decode(text: bytes, kind: type[_T], hook: Hook | None = None) -> _T:
    """Return a JSON document as a type; ``hook`` converts what JSON does not have.

    Raises:
        ValueError: as ``parse``, or the type does not match; the message has the location.
        RecursionError: it is nested too deeply.
    """
    return convert(parse(text), kind, hook)


def parse(text: bytes) -> Any:
    """Return a JSON document as plain data, with special floats decoded.

    Raises:
        ValueError: it is not JSON, has more than ``MAX_CONTAINERS`` containers, a lone surrogate,
            or an integer of at least ``INTEGER_LIMIT``.
        RecursionError: it is nested too deeply.
    """
    _check_containers(text)
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValidationError(f"not valid JSON: {error}") from None
    if _LONG_NUMBER.search(text):
        _check_integers(data)
    return decode_floats(data) if _FLOAT_MARK in text else data


def convert(data: Any, kind: type[_T], hook: Hook | None = None) -> _T:
    """Return plain data, as ``to_json`` returns it, as a type.

    Raises:
        ValueError: the type does not match; the message has the location.
    """
    return msgspec.convert(data, kind, dec_hook=hook)


def convert_valid(data: Any, kind: type[_Struct]) -> _Struct:
    """Return a Struct of the valid values in plain data; the others have their defaults.

    For settings, which another version or a person may have written.
    """
    found: dict[str, Any] = {}
    for field in fields(kind):
        if isinstance(data, dict) and field.encode_name in data:
            with suppress(ValidationError):
                found[field.name] = convert(data[field.encode_name], field.type)
    return kind(**found)


def parse_lenient(text: str | bytes, **options: Any) -> Any:
    """Return a JSON document as Python's ``json`` reads it, for documents of other programs.

    They may have NaN and integers of any size. ``options`` are those of ``json.loads``.

    Raises:
        ValueError: it is not JSON, or has more than ``MAX_CONTAINERS`` containers.
        RecursionError: it is nested too deeply.
    """
    _check_containers(text)
    return json.loads(text, **options)


def dumps(data: Any, **options: Any) -> bytes:
    """Return data as a JSON document in UTF-8; ``options`` are those of ``json.dumps``.

    Lone surrogates, from file names that are not UTF-8, become question marks.
    """
    return json.dumps(data, ensure_ascii=False, **options).encode("utf-8", "replace")


def _check_containers(text: str | bytes) -> None:
    count = (
        text.count("[") + text.count("{")
        if isinstance(text, str)
        else text.count(b"[") + text.count(b"{")
    )
    if count > MAX_CONTAINERS:
        raise ValueError(f"it has more than {MAX_CONTAINERS:,} objects and arrays")


def _check_integers(data: Any) -> None:
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, int) and abs(value) >= INTEGER_LIMIT:
            raise ValidationError("an integer has too many digits")


def encode_floats(value: Any) -> Any:
    """Return plain data with NaN and infinities as transformers writes them.

    JSON has no such numbers; Infinity becomes ``{"__float__": "Infinity"}``.
    """
    if isinstance(value, Mapping):
        return {key: encode_floats(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encode_floats(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return {FLOAT_KEY: name}
    return value


def decode_floats(value: Any) -> Any:
    """Return plain data with the numbers that ``encode_floats`` replaced."""
    if isinstance(value, Mapping):
        if list(value) == [FLOAT_KEY] and value[FLOAT_KEY] in _FLOAT_NAMES:
            return float(value[FLOAT_KEY])
        return {key: decode_floats(inner) for key, inner in value.items()}
    return [decode_floats(inner) for inner in value] if isinstance(value, list) else value


class Document(Struct, frozen=True):
    """Base of Structs with a JSON form of the same fields.

    ``JSON`` lists the fields and properties that are written, in order; by default all fields. In
    ``offloaded?offloaded`` the first is left out where the second has its default value. Other keys
    are given by the class's ``rename``.
    """

    JSON: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain dicts, lists and scalars."""
        return struct_to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``to_json`` returned.

        Raises:
            ValueError: the type does not match; the message has the location.
        """
        return convert(data, cls)


class PartialEquality:
    """Mixin: the fields in ``NOT_COMPARED`` are left out of ``==``, ``hash`` and ``repr``.

    msgspec has no such option per field.
    """

    __slots__ = ()
    NOT_COMPARED: ClassVar[tuple[str, ...]] = ()
    __struct_fields__: ClassVar[tuple[str, ...]]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(tuple(self._compared().values()))

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self._compared().items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _compared(self) -> dict[str, Any]:
        names = (n for n in self.__struct_fields__ if n not in self.NOT_COMPARED)
        return {name: getattr(self, name) for name in names}
