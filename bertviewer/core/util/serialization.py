"""Structs as JSON and back.

What is read has to be what the types say: other data is refused, with its place. Nothing that is
read names a class, a function or a file.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

import msgspec
from msgspec import Struct, ValidationError
from msgspec.structs import fields

from bertviewer.core.util.json_text import check_containers
from bertviewer.core.util.special_floats import KEY, decoded

LARGEST = 2**63
"""No count is as large; numbers that are drawn have to fit into a float."""

_T = TypeVar("_T")
_Struct = TypeVar("_Struct", bound=Struct)

Hook = Callable[[type, Any], Any]
"""Converts plain data to a type that JSON does not have; raises ``ValueError``."""

_PLAIN = frozenset((str, int, float, bool, type(None)))
_SPECIAL_FLOAT = f'"{KEY}"'.encode()
_LONG_NUMBER = re.compile(rb"\d{19}")


def to_json(value: Any) -> Any:
    """Return a Struct, and all that it contains, as JSON's types."""
    if value.__class__ in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return list(map(to_json, value))
    if isinstance(value, Struct):
        return by_fields(value)
    if isinstance(value, Mapping):
        return {key: to_json(inner) for key, inner in value.items()}
    return value


def by_fields(value: Struct) -> dict[str, Any]:
    """Return the fields of a Struct, or what its ``JSON`` lists, in that order."""
    return {
        key: to_json(getattr(value, name))
        for name, key, unless, default in _keys(value.__class__)
        if not unless or getattr(value, unless) != default
    }


@cache
def _keys(kind: type[Struct]) -> list[tuple[str, str, str, Any]]:
    """Return each field's name and key, and the field that it is left out for, with its default."""
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
        ValueError: as ``parse``, or it is of another type; the message has the place.
        RecursionError: it is nested too deeply.
    """
    return convert(parse(text), kind, hook)


def parse(text: bytes) -> Any:
    """Return a JSON document as plain data, with special floats decoded.

    Raises:
        ValueError: it is not JSON, has more containers than ``json_text.MOST_CONTAINERS``, a lone
            surrogate, or an integer from ``LARGEST`` on.
        RecursionError: it is nested too deeply.
    """
    check_containers(text)
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValidationError(f"not valid JSON: {error}") from None
    if _LONG_NUMBER.search(text):
        _check_integers(data)
    return decoded(data) if _SPECIAL_FLOAT in text else data


def convert(data: Any, kind: type[_T], hook: Hook | None = None) -> _T:
    """Return plain data, as ``to_json`` gives it, as a type.

    Raises:
        ValueError: it is something else; the message has the place.
    """
    return msgspec.convert(data, kind, dec_hook=hook)


def convert_valid(data: Any, kind: type[_Struct]) -> _Struct:
    """Return a Struct of those values in plain data that are valid; the others have their defaults.

    For settings, which another version or a person may have written.
    """
    found: dict[str, Any] = {}
    for field in fields(kind):
        if isinstance(data, dict) and field.encode_name in data:
            with suppress(ValidationError):
                found[field.name] = convert(data[field.encode_name], field.type)
    return kind(**found)


def _check_integers(data: Any) -> None:
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, int) and abs(one) >= LARGEST:
            raise ValidationError("an integer has too many digits")


class Document(Struct, frozen=True):
    """Base of Structs that are the same as their JSON.

    ``JSON`` lists the fields and properties that it has, in their order; without it they are the
    fields. ``offloaded?offloaded`` is left out where the second one has its default value. Keys
    with other names are those of the class's ``rename``.
    """

    JSON: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain dicts, lists and scalars."""
        return by_fields(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``to_json`` gave.

        Raises:
            ValueError: it is something else; the message has the place.
        """
        return convert(data, cls)
