"""Checks the arguments of a call against their annotations.

A model's name instead of the model, or "no" instead of ``False``, would otherwise cause an error
far from the call, or none.
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
    # The function itself reports unknown names.
    **dict.fromkeys(
        ("Literal", "FigureName", "CorpusFigureName", "HeadMeasure", "Paper", "Appendix"),
        lambda value: isinstance(value, str),
    ),
}
"""The check of a value by the name of its type; other names are compared with its classes."""


def check_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """Check the arguments of a call.

    Raises:
        TypeError: an argument does not match its annotation.
        UserError: a path is not a valid file name.
    """
    known = _signature(function)
    try:
        bound = known.bind(*args, **kwargs).arguments
    except TypeError:
        return  # the call itself raises a better error
    for name, value in bound.items():
        parameter = known.parameters[name]
        if parameter.annotation is Parameter.empty or parameter.kind is Parameter.VAR_KEYWORD:
            continue
        values = value if parameter.kind is Parameter.VAR_POSITIONAL else (value,)
        for each in values:
            _check(name, each, formatannotation(parameter.annotation))


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
    raise TypeError(f"unsupported annotation: {ast.unparse(kind)}")


def _check_file_name(name: str, text: str | bytes) -> None:
    if isinstance(text, bytes):
        raise TypeError(f"{name} must be a str path, not bytes")
    try:
        is_name = "\0" not in os.fsdecode(os.fsencode(text))
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise UserError(f"{name}: {text!r} is not a valid file name")
