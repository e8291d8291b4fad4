"""Whether data is of the types that its classes name, as data from a file need not be."""

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Check = Callable[[tuple[Any, ...]], bool]
"""Takes many values: of thousands of modules, field by field is faster than one by one."""


def conforms(value: Any, kind: type) -> bool:
    """Tell whether a dataclass's fields, and all that is in them, are what its annotations say.

    A whole number does for a float. Fields that begin with an underscore are the class's own.
    """
    return _check(kind)((value,))


@cache
def _check(hint: Any) -> Check:
    if (plain := _plain_types(hint)) is not None:
        return lambda values: plain.issuperset(map(type, values))
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if origin is Literal:
        return lambda values: all(value in parts for value in values)
    if origin in (Union, types.UnionType):
        *others, last = parts
        if last is type(None) and len(others) == 1:
            of_one = _check(others[0])
            return lambda values: of_one(tuple([each for each in values if each is not None]))
        checks = tuple(map(_check, parts))
        return lambda values: all(any(check((each,)) for check in checks) for each in values)
    if origin is tuple:
        of_items = _check(parts[0])  # all tuples of this program's data are of one kind
        return lambda values: (
            {tuple}.issuperset(map(type, values)) and of_items(tuple(chain.from_iterable(values)))
        )
    if origin is Mapping:
        of_keys, of_values = map(_check, parts)
        return lambda values: all(
            isinstance(each, Mapping) and of_keys(tuple(each)) and of_values(tuple(each.values()))
            for each in values
        )
    if not is_dataclass(hint):
        return lambda values: all(isinstance(value, hint) for value in values)
    kind: Any = hint
    # Where there is none, nothing below it is looked at: nodes hold nodes.
    return lambda values: (
        not values
        or (
            {kind}.issuperset(map(type, values))
            and all(check(tuple(map(get, values))) for get, check in _columns(kind))
        )
    )


@cache
def _columns(hint: Any) -> list[tuple[Callable[[Any], Any], Check]]:
    """Return how each field is got, and checked."""
    return [(attrgetter(name), _check(inner)) for name, inner in _fields(hint)]


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
