"""Whose an error in a forward pass is: the model's, which can be told in a line, or our own."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType

import torch
from torch import nn

from bertviewer.core.graph.module_calls import is_wrapper_frame
from bertviewer.core.graph.products import is_product_mode
from bertviewer.core.util.errors import UserError, describe_error

# On the CPU, on Windows' and on MPS torch has no class for it.
_WANT = ("can't allocate memory", "not enough memory", "MPS backend out of memory")
_OUR_PACKAGE = __name__.partition(".")[0]


@contextmanager
def as_user_error(model: nn.Module, problem: str) -> Iterator[None]:
    """Tell in a line if the model fails inside the ``with``; ``problem`` is how the line begins.

    What fails of this program itself comes through as it is.

    Raises:
        UserError: the model failed.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if (cause := failure_reason(error, model)) is None:
            raise
        raise UserError(f"{problem}: {cause}") from error


def failure_reason(error: BaseException, model: nn.Module) -> str | None:
    """Return why a model failed, in one line; ``None`` if it was no model that failed.

    Want of memory and a failure of the device are told as such, wherever they were noticed.
    """
    if is_out_of_memory(error):
        return f"not enough memory: {describe_error(error)}"
    if isinstance(error, torch.AcceleratorError):
        # It works on behind, so what comes of it is noticed anywhere.
        return f"the device failed: {describe_error(error)}"
    place = place_of(error, model)
    return None if place is None else f"{place}: {describe_error(error)}"


def place_of(error: BaseException, model: nn.Module) -> str | None:
    """Return the path and the class of the module that raised an error, ``None`` if none did."""
    failed = failing_module(error)
    if failed is None:
        return None
    path = next((path for path, inner in model.named_modules() if inner is failed), "")
    name = type(failed).__name__
    return f"{path} ({name})" if path else name


def failing_module(error: BaseException) -> nn.Module | None:
    """Return the module in whose code an error was raised; ``None`` if that was this program's.

    The innermost frame decides that is either a module's method or a function of this program:
    what torch does it does for one of the two. What stands in for a module's ``forward`` is
    neither, and what counts its products is not, either.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        if is_wrapper_frame(frame) or is_product_mode(frame):
            continue
        if _is_ours(frame):
            return None
        if isinstance(module := frame.f_locals.get("self"), nn.Module):
            return module
    return None


def _is_ours(frame: FrameType) -> bool:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] == _OUR_PACKAGE


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error means that memory was wanted, on whatever device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _WANT)
