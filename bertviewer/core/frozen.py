"""The one kind of data class of this program: it cannot be changed, and it is quick to make."""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

Class = TypeVar("Class")
Function = Callable[..., Any]


@overload
def frozen(kind: type[Class]) -> type[Class]: ...
@overload
def frozen(*, eq: bool = True, slots: bool = True) -> Callable[[type[Class]], type[Class]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[Any] | None = None, *, eq: bool = True, slots: bool = True) -> Any:
    """Make a class what ``dataclass(frozen=True, slots=True, eq=eq)`` makes it.

    ``fields()``, ``replace()`` and ``asdict()`` of ``dataclasses`` know it. That one writes and
    compiles six functions for each class: with the 150 classes that are there when the first tree
    is, this took a sixth of the start. Here a class has its ``__init__`` compiled, and no more.

    Without ``eq`` an object is equal to itself alone; without ``slots`` properties can be cached.
    """

    def make(kind: type[Any]) -> type[Any]:
        made = dataclass(init=False, repr=False, eq=False, slots=slots)(kind)
        for name, function in (_functions(made, eq) | (_STATE if slots else {})).items():
            # One that the class has written itself stays. Python gives one with __eq__ no hash.
            if kind.__dict__.get(name) is None:
                setattr(made, name, function)
        return made

    return make if kind is None else make(kind)


def _functions(kind: type[Any], eq: bool) -> dict[str, Function]:
    """Return what a class gets, by its name."""
    known = fields(kind)
    functions: dict[str, Function] = {
        "__init__": _init(kind, known),
        "__repr__": _repr,
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
    }
    if eq:
        functions["__eq__"] = _equal(_values(f.name for f in known if f.compare))
        hashed = (f.name for f in known if (f.compare if f.hash is None else f.hash))
        functions["__hash__"] = _hash(_values(hashed))
    return functions


def _init(kind: type[Any], known: tuple[Field[Any], ...]) -> Function:
    there: dict[str, Any] = {"_put": object.__setattr__, "_missing": MISSING}
    for f in known:
        there |= {f"default_{f.name}": f.default, f"make_{f.name}": f.default_factory}
    taken = ", ".join(["self", *(_parameter(f) for f in known if f.init)])
    lines = [f"def __init__({taken}):", *_assignments(known)]
    if hasattr(kind, "__post_init__"):
        lines.append(" self.__post_init__()")
    made: dict[str, Function] = {}
    exec("\n".join([*lines, " pass"]), there, made)
    made["__init__"].__qualname__ = f"{kind.__qualname__}.__init__"  # what a TypeError names
    return made["__init__"]


def _parameter(f: Field[Any]) -> str:
    if f.default is not MISSING:
        return f"{f.name}=default_{f.name}"
    return f.name if f.default_factory is MISSING else f"{f.name}=_missing"


def _assignments(known: tuple[Field[Any], ...]) -> Iterator[str]:
    for f in known:
        value = f.name if f.init else f"default_{f.name}"
        if f.default_factory is not MISSING:
            value = f"make_{f.name}()"
            if f.init:
                value += f" if {f.name} is _missing else {f.name}"
        elif f.default is MISSING and not f.init:
            continue  # __post_init__() gives it
        yield f" _put(self, {f.name!r}, {value})"


def _equal(values: Function) -> Function:
    def equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return equal


def _hash(values: Function) -> Function:
    return lambda self: hash(values(self))


def _values(names: Iterator[str]) -> Function:
    """Return what takes these fields of an object; of one, ``attrgetter`` would give it bare."""
    taken = tuple(names)
    if not taken:
        return lambda _: ()
    get = attrgetter(*taken)
    return get if len(taken) > 1 else lambda self: (get(self),)


def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


_STATE: dict[str, Function] = {"__getstate__": _get_state, "__setstate__": _set_state}
"""What copies and pickles are made by: objects with slots have no ``__dict__`` to be filled."""
