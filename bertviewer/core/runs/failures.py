"""Errors of forward passes: a model's become a ``UserError``, our own are raised unchanged."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType

import torch
from torch import nn

from bertviewer.core.graph.module_calls import is_wrapper_frame
from bertviewer.core.graph.products import is_product_mode
from bertviewer.core.util.errors import UserError, describe_error

# torch raises a plain RuntimeError for the CPU, on Windows and for MPS.
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "MPS backend out of memory")
_OUR_PACKAGE = __name__.partition(".")[0]


@contextmanager
def as_user_error(model: nn.Module, problem: str) -> Iterator[None]:
    """Convert errors of a model inside the ``with`` to one line that starts with ``problem``.

    Errors of this program are raised unchanged.

    Raises:
        UserError: the model failed.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if (reason := failure_reason(error, model)) is None:
            raise
        raise UserError(f"{problem}: {reason}") from error


def failure_reason(error: BaseException, model: nn.Module) -> str | None:
    """Return in one line why a model failed; ``None`` if the error is not the model's.

    Lack of memory and failures of the device count as the model's wherever they are raised.
    """
    if is_out_of_memory(error):
        return f"not enough memory: {describe_error(error)}"
    if isinstance(error, torch.AcceleratorError):
        # Accelerators work asynchronously, so any later call may raise it.
        return f"the device failed: {describe_error(error)}"
    name = failing_module_name(error, model)
    return None if name is None else f"{name}: {describe_error(error)}"


def failing_module_name(error: BaseException, model: nn.Module) -> str | None:
    """Return path and class of the module that raised an error; ``None`` if none did."""
    failed = _failing_module(error)
    if failed is None:
        return None
    path = next((path for path, inner in model.named_modules() if inner is failed), "")
    name = type(failed).__name__
    return f"{path} ({name})" if path else name


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means lack of memory, on any device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY)


def _failing_module(error: BaseException) -> nn.Module | None:
    """Return the module whose code raised an error; ``None`` if this program's did.

    The innermost frame decides that is either a module's method or a function of this program:
    torch's functions work for one of the two. Wrappers of ``forward`` are neither.
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
