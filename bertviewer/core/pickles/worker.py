"""The worker of the helper process that converts pickled weights to safetensors.

``torch.load`` builds nothing but tensors and plain containers under ``weights_only=True``. The
limits and audit hooks of ``util.sandbox`` stop what gets past it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bertviewer.core.checkpoints.stored import ITEM_BYTES
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.sandbox import ForbiddenError, Functions
from bertviewer.core.util.text import shown_name

# Where checkpoints of training have the weights, if not at the top, and how deep.
_INNER = ("state_dict", "model_state_dict", "model", "module")
_MAX_DEPTH = 2


def functions() -> Functions:
    """Return what the helper process can do."""
    import safetensors.torch  # before the limits, as they are relative to what imports take
    import torch

    assert safetensors.torch is not None
    torch.set_num_threads(1)
    return {"convert": convert}


def convert(source: str, target: str) -> None:
    """Write the tensors of a file that torch saved as a safetensors file.

    A tensor with several names has the first. What is not a tensor, such as a step count, is left
    out.

    Raises:
        UserError: torch cannot read the file, or safetensors cannot store a tensor.
        MemoryError: it is larger than the limit.
        ForbiddenError: reading it tried to do something else.
    """
    import torch
    from safetensors.torch import save_file

    try:
        loaded = torch.load(source, map_location="cpu", weights_only=True, mmap=False)
    # torch raises any exception, and its messages advise to load the file without protection.
    except Exception as error:
        raise _error(error, "truncated or corrupt") from error
    tensors = _distinct_tensors(_state_dict(loaded), Path(source).stat().st_size)
    try:
        save_file(tensors, target, {"format": "pt"})
    except Exception as error:
        raise _error(error, "its tensors cannot be written") from error


def _error(error: Exception, cause: str) -> Exception:
    text = str(error).lower()
    if isinstance(error, ForbiddenError | MemoryError):
        return error
    if "memory" in text or "alloc" in text:
        return MemoryError()
    return UserError(f"{cause} ({type(error).__name__})")


def _distinct_tensors(named: Mapping[Any, Any], nbytes: int) -> dict[str, Any]:
    """Return tensors that safetensors can store: each once, contiguous, without shared memory.

    Raises:
        UserError: a tensor has no valid name or dtype, or they are larger than the file allows.
    """
    import torch

    known = {torch.float64, torch.float32, torch.float16, torch.bfloat16}
    known |= {torch.float8_e4m3fn, torch.float8_e5m2, torch.bool}
    known |= {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}
    known |= {torch.uint64, torch.uint32, torch.uint16}
    assert len(known) == len(ITEM_BYTES)
    kept: dict[str, Any] = {}
    seen = set()
    storages = set()
    left = 2 * nbytes
    for name, tensor in named.items():
        if not (isinstance(name, str) and name.isprintable()):
            raise UserError("it contains a tensor without a valid name")
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise UserError(f"{name!r} is a {type(tensor).__name__}, not a plain tensor")
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.dtype not in known:
            what = str(tensor.layout if tensor.layout != torch.strided else tensor.dtype)
            raise UserError(
                f"{name!r} is a tensor of {what.removeprefix('torch.')}, which cannot be read"
            )
        view = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and view in seen:
            continue
        seen.add(view)
        # A view may repeat one number a billion times.
        left -= tensor.numel() * tensor.element_size()
        if left < 0:
            raise UserError("its tensors claim to be larger than the file")
        storage = tensor.untyped_storage().data_ptr()
        if storage in storages or not tensor.is_contiguous():
            tensor = tensor.clone(memory_format=torch.contiguous_format)  # noqa: PLW2901
        storages.add(storage)
        kept[name] = tensor.detach()
    return kept


def _state_dict(loaded: Any) -> Mapping[Any, Any]:
    """Return the tensors of the model in a checkpoint.

    Raises:
        UserError: there are none, or those of several models.
    """
    for table in _inner_tables(loaded):
        if found := _tensors_in(table):
            return found
    own = _tensors_in(loaded)
    inner = loaded.items() if isinstance(loaded, Mapping) else ()
    parts = {name: found for name, part in inner if (found := _tensors_in(part))}
    most = max(map(len, parts.values()), default=0)
    if len(own) < most:
        best = [name for name, found in parts.items() if len(found) == most]
        if len(best) > 1:
            raise UserError(
                "it holds the tensors of several models "
                f"({', '.join(shown_name(str(name)) for name in best)}); save those of one of "
                "them in a file, and open that"
            )
        own = parts[best[0]]
    if not own:
        raise UserError("it contains no named tensors")
    return own


def _inner_tables(loaded: Any, depth: int = 0) -> Iterator[Any]:
    """Yield where the weights may be, innermost first: tensors around them belong to training."""
    if isinstance(loaded, Mapping) and depth <= _MAX_DEPTH:
        for key in _INNER:
            yield from _inner_tables(loaded.get(key), depth + 1)
        if depth:
            yield loaded


def _tensors_in(table: Any) -> dict[Any, Any]:
    import torch

    values = table.items() if isinstance(table, Mapping) else ()
    return {name: value for name, value in values if torch.is_tensor(value)}
