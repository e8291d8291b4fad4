"""Whether data is of the types that its classes name, as data from a file need not be."""

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Check = Callable[[Any], bool]


def conforms(value: Any, kind: type) -> bool:
    """Tell whether a dataclass's fields, and all that is in them, are what its annotations say.

    A whole number does for a float. Fields that begin with an underscore are the class's own.
    """
    return _check(kind)(value)


@cache
def _check(hint: Any) -> Check:
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if origin is Literal:
        return lambda value: value in parts
    if origin in (Union, types.UnionType) and _plain_types(hint) is None:
        checks = tuple(map(_check, parts))
        return lambda value: any(check(value) for check in checks)
    if origin is tuple:
        of_all = _check_of_all(parts[0])  # all tuples of this program's data are of one kind
        return lambda value: isinstance(value, tuple) and of_all(value)
    if origin is Mapping:
        of_key, of_value = map(_check, parts)
        return lambda value: (
            isinstance(value, Mapping)
            and all(map(of_key, value))
            and all(map(of_value, value.values()))
        )
    of_all = _check_of_all(hint)
    return lambda value: of_all((value,))


def _check_of_all(hint: Any) -> Callable[[tuple[Any, ...]], bool]:
    """Return a check of many values: of thousands of modules, field by field is faster."""
    if (plain := _plain_types(hint)) is not None:
        return lambda values: plain.issuperset(map(type, values))
    if not is_dataclass(hint):
        check = _check(hint)
        return lambda values: all(map(check, values))
    kind: Any = hint
    return lambda values: (
        {kind}.issuperset(map(type, values))
        and all(check(tuple(map(get, values))) for get, check in _columns(kind))
    )


@cache
def _columns(hint: Any) -> list[tuple[Callable[[Any], Any], Callable[[Any], bool]]]:
    """Return how each field is got and checked: only where there is one, as nodes hold nodes."""
    return [(attrgetter(name), _check_of_all(inner)) for name, inner in _fields(hint)]


def _plain_types(hint: Any) -> frozenset[type] | None:
    """Return the types of a hint that names nothing but plain ones, ``None`` for any other."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if not set(kinds) <= {str, int, float, bool, type(None)}:
        return None
    return frozenset({*kinds, int} if float in kinds else kinds)


def _fields(kind: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind)
    names = (field.name for field in fields(kind))
    return [(name, hints[name]) for name in names if not name.startswith("_")]
