"""Whether what a script passes is of the kind that is asked for, before anything is done with it.

A model's name in place of the model, or "no" in place of ``False``, would else be an error far away
from its cause, or none.
"""

import ast
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import Parameter, Signature, formatannotation, signature
from numbers import Real
from typing import Any, SupportsIndex

from bertviewer.core.util.errors import UserError

_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")

_IS: Mapping[str, Callable[[Any], bool]] = {
    "Any": lambda _: True,
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, SupportsIndex) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, Real) and not isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "PathLike": lambda value: isinstance(value, os.PathLike),
    "Progress": callable,
    # The names of what there is: which of these there are is said by whoever looks for it.
    **dict.fromkeys(
        ("Literal", "FigureName", "CorpusFigureName", "HeadMeasure", "Paper"),
        lambda value: isinstance(value, str),
    ),
}
"""What is asked of a value by the name of its type; any other name is that of its class."""


def check_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """Check the arguments of a call.

    Raises:
        TypeError: one is of another kind than its annotation says.
        UserError: one is no name that a file can have.
    """
    known = _signature(function)
    try:
        bound = known.bind(*args, **kwargs).arguments
    except TypeError:
        return  # the call itself says which is missing, or one too many
    for name, value in bound.items():
        parameter = known.parameters[name]
        if parameter.annotation is Parameter.empty or parameter.kind is Parameter.VAR_KEYWORD:
            continue
        values = value if parameter.kind is Parameter.VAR_POSITIONAL else (value,)
        for each in values:
            _check(name, each, formatannotation(parameter.annotation))


def check_wishes(what: str, wishes: Mapping[str, Any], kind: type) -> None:
    """Check the choices that a typed dict has; ``what`` they are of.

    Raises:
        TypeError: there is no such choice, or a value is of another kind.
        UserError: one is no name that a file can have.
    """
    known: Mapping[str, Any] = kind.__annotations__
    if unknown := wishes.keys() - known.keys():
        raise TypeError(f"{what} has no option {', '.join(unknown)}")
    for name, value in wishes.items():
        annotation = getattr(known[name], "__forward_arg__", known[name])
        _check(name, value, formatannotation(annotation))


@cache
def _signature(function: Callable[..., Any]) -> Signature:
    return signature(function)


def _check(name: str, value: Any, annotation: str) -> None:
    annotation = _MODULES.sub("", annotation.strip("'\""))
    if not _fits(value, _parsed(annotation)):
        wanted = annotation.replace("PathLike[str]", "PathLike").replace(" | ", " or ")
        raise TypeError(f"{name} must be {wanted}, not {type(value).__name__}")
    if "PathLike" in annotation and isinstance(value, str | os.PathLike):
        _check_file_name(name, os.fspath(value))


@cache
def _parsed(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _fits(value: Any, kind: ast.expr) -> bool:
    match kind:
        case ast.BinOp(left, ast.BitOr(), right):
            return _fits(value, left) or _fits(value, right)
        case ast.Constant(None):
            return value is None
        case ast.Subscript(ast.Name("Sequence"), inner):
            is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
            return is_list and all(_fits(each, inner) for each in value)
        case ast.Subscript(outer):
            return _fits(value, outer)
        case ast.Name(name):
            is_such = _IS.get(name)
            if is_such is not None:
                return is_such(value)
            return any(base.__name__ == name for base in type(value).__mro__)
    raise TypeError(f"an annotation that is not known here: {ast.unparse(kind)}")


def _check_file_name(name: str, text: str | bytes) -> None:
    if isinstance(text, bytes):
        raise TypeError(f"{name} must be a str path, not bytes")
    try:
        is_name = "\0" not in os.fsdecode(os.fsencode(text))
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise UserError(f"{name}: {text!r} is not a valid file name")
