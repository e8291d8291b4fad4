"""Frozen dataclasses as JSON and back.

What is read is built by the types that the classes name, and by nothing else: data of another
shape is refused where it is found. Nothing that is read names a class, a function or a file.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from bertviewer.core.text.special_floats import KEY, decoded

LARGEST = 2**63
"""No count of anything is larger; what is drawn has to fit into a float."""

Read = Callable[[Any], Any]
"""Takes a value as JSON has it, and gives it as the program has it; raises ``Odd``."""


class Odd(ValueError):
    """Data that is not what the types say; the message names the place."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(f"{place} {problem}".strip())
        self.problem, self.place = problem, place

    def within(self, place: str) -> "Odd":
        """Return the same, seen from what is around."""
        return Odd(self.problem, place + self.place)


def to_json(value: Any) -> Any:
    """Return a dataclass, and all that is in it, as what JSON knows."""
    if value is None or value.__class__ in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return list(map(to_json, value))
    if isinstance(value, Mapping):
        return {key: to_json(inner) for key, inner in value.items()}
    return by_fields(value) if is_dataclass(value) else value


def by_fields(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields, or what its ``JSON`` names, in that order.

    In ``JSON`` a field that has another name in the document stands as ``class_name=class``. One
    that is left out where another, or itself, is what it is by default has that one's name behind
    it: ``offloaded?offloaded``.
    """
    return {
        key: to_json(getattr(value, name))
        for name, key, unless, default in _keys(value.__class__)
        if not unless or getattr(value, unless) != default
    }


@cache
def _keys(kind: Any) -> list[tuple[str, str, str, Any]]:
    """Return each field with its key, and which one is another than by default where it is told."""
    defaults = {field.name: field.default for field in fields(kind)}
    found = []
    for entry in (getattr(kind, "JSON", "") or " ".join(defaults)).split():
        told, _, unless = entry.partition("?")
        name, _, key = told.partition("=")
        found.append((name, key or name, unless, defaults.get(unless)))
    return found


class Reader:
    """Reads data as a type says that it is.

    Args:
        others: what reads types that JSON has none for, by their origins.
        names: what annotations name that is imported for type checking alone.
        is_exact: whether fields have their own names and there are no others. Else they are where
            ``by_fields`` puts them, and there may be more. Those with a default may be missing.
    """

    def __init__(
        self,
        others: Mapping[Any, Read] | None = None,
        names: Mapping[str, Any] | None = None,
        *,
        is_exact: bool = False,
    ) -> None:
        self._others, self._names, self._is_exact = others or {}, dict(names or {}), is_exact
        self._known: dict[Any, Read] = {}

    def read(self, hint: Any, data: Any, place: str = "it") -> Any:
        """Return what was written, of this type.

        Raises:
            Odd: it is something else.
        """
        try:
            return self._of(hint)(data)
        except Odd as error:
            raise error.within(place) from None

    def _of(self, hint: Any) -> Read:
        if hint not in self._known:
            self._known[hint] = self._made(hint)
        return self._known[hint]

    def _made(self, hint: Any) -> Read:
        origin, parts = get_origin(hint), get_args(hint)
        if origin in self._others:
            return self._others[origin]
        if origin in (Union, types.UnionType):
            return self._union(parts)
        if origin is Literal:
            return _literal(parts)
        if origin is tuple:
            return self._tuple(parts)
        if origin is Mapping:
            return self._mapping(self._of(parts[1]))
        return self._object(hint) if is_dataclass(hint) else _PLAIN[hint]

    def _union(self, parts: tuple[Any, ...]) -> Read:
        if len(parts) == 2 and parts[1] is type(None):
            of_one = self._of(parts[0])
            return lambda data: None if data is None else of_one(data)
        by_type = {kind: _PLAIN[kind] for kind in parts if kind in _PLAIN}
        if float in by_type:
            by_type = {int: by_type[float], dict: by_type[float], **by_type}
        reads = [self._of(part) for part in parts if part is not type(None)]

        def read(data: Any) -> Any:
            if data is None and type(None) in parts:
                return None
            if type(data) in by_type:
                return by_type[type(data)](data)
            for one in reads[:-1]:
                try:
                    return one(data)
                except Odd:
                    continue
            return reads[-1](data)

        return read

    def _tuple(self, parts: tuple[Any, ...]) -> Read:
        every = self._of(parts[0]) if parts[1:] == (...,) else None
        each = () if every else tuple(map(self._of, parts))

        def read(data: Any) -> tuple[Any, ...]:
            _check(type(data) is list, "a list")
            _check(every is not None or len(data) == len(each), f"a list of {len(each)}")
            found: list[Any] = []
            try:
                for one, inner in zip([every] * len(data) if every else each, data, strict=True):
                    found.append(one(inner))
            except Odd as error:
                raise error.within(f"[{len(found)}]") from None
            return tuple(found)

        return read

    def _mapping(self, of_value: Read) -> Read:
        def read(data: Any) -> dict[str, Any]:
            _check(type(data) is dict, "an object")
            found = {}
            for key, inner in data.items():
                try:
                    found[_text(key)] = of_value(inner)
                except Odd as error:
                    raise error.within(f".{key}") from None
            return found

        return read

    def _object(self, kind: Any) -> Read:
        entries: dict[str, tuple[str, Read]] = {}  # filled when first needed: nodes hold nodes
        needed = set[str]()

        def read(data: Any) -> Any:
            if not entries:
                entries.update(self._entries(kind))
                optional = _with_defaults(kind)
                needed.update(key for key, (name, _) in entries.items() if name not in optional)
            _check(type(data) is dict, "an object")
            unknown = data.keys() - entries.keys() if self._is_exact else set()
            if odd := unknown | (needed - data.keys()):
                raise Odd("is missing, or not known", f".{min(odd)[:40]!r}")
            found = {}
            for key, (name, of_field) in entries.items():
                try:
                    if key in data:
                        found[name] = of_field(data[key])
                except Odd as error:
                    raise error.within(f".{key}") from None
            return kind(**found)

        return read

    def _entries(self, kind: Any) -> dict[str, tuple[str, Read]]:
        """Return the name of each field and what reads it, by its key."""
        hints = get_type_hints(kind, localns=self._names)
        keys = {} if self._is_exact else {name: key for name, key, *_ in _keys(kind)}
        return {
            keys.get(field.name, field.name): (field.name, self._of(hints[field.name]))
            for field in fields(kind)
        }


def _with_defaults(kind: Any) -> set[str]:
    return {f.name for f in fields(kind) if not f.default is f.default_factory is MISSING}


def _literal(parts: tuple[Any, ...]) -> Read:
    known = {(type(part), part) for part in parts}

    def read(data: Any) -> Any:
        if type(data) not in (str, int, bool) or (type(data), data) not in known:
            raise Odd(f"is none of {', '.join(map(str, parts))}")
        return data

    return read


def _number(data: Any) -> Any:
    if type(data) is dict and list(data) == [KEY]:
        data = decoded(data)
    _check(type(data) in (int, float), "a number")
    return _sensible(data) if type(data) is int else data


def _whole(data: Any) -> Any:
    _check(type(data) is int, "an integer")
    return _sensible(data)


def _sensible(data: int) -> int:
    _check(abs(data) < LARGEST, "a number of a sensible size")
    return data


def _text(data: Any) -> Any:
    """Return a text; half of a pair of surrogates is none, which no window shows."""
    _check(type(data) is str, "a text")
    if not data.isascii():
        try:
            data.encode()
        except UnicodeEncodeError:
            raise Odd("is not valid Unicode") from None
    return data


def _flag(data: Any) -> Any:
    _check(type(data) is bool, "true or false")
    return data


def _check(is_so: bool, what: str) -> None:
    if not is_so:
        raise Odd(f"is not {what}")


_PLAIN: dict[Any, Read] = {
    float: _number,
    int: _whole,
    str: _text,
    bool: _flag,
    Any: decoded,
}

DOCUMENTS = Reader()
"""Reads what ``to_json`` gave."""


class Document:
    """Base of frozen dataclasses that are the same as their JSON.

    ``JSON`` says which fields that has, in which order and under which names: see ``by_fields``.
    Without it they are those of the class.
    """

    __slots__ = ()
    JSON: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain dicts, lists and scalars."""
        return by_fields(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``to_json`` gave.

        Raises:
            ValueError: it is something else.
        """
        found: Self = DOCUMENTS.read(cls, data)
        return found
