"""Turns one file of pickled weights into safetensors: what the child process does, and all it does.

torch reads the file under ``weights_only=True``, which builds tensors and plain containers alone.
Around it stand limits of memory and time, and a hook that lets nothing through that would start a
program, open a connection or write a file.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bertviewer.core.checkpoints.header import shown_name
from bertviewer.core.checkpoints.stored import ITEM_BYTES
from bertviewer.core.util.child_process import (
    REFUSED,
    ForbiddenError,
    forbid,
    limit_memory,
    limit_seconds,
)
from bertviewer.core.util.errors import UserError

ROOM = 1_000_000_000
"""Bytes of memory beside what torch takes when it is imported and three times the file."""
SECONDS = 120
BYTES_A_SECOND = 20_000_000
"""Time of the processor: so long at least, and more for a large file."""
# Where a checkpoint of training keeps the weights, if not at the top.
MOST_NESTED = 2
_INNER = ("state_dict", "model_state_dict", "model", "module")


def main(arguments: list[str]) -> int:
    """Convert the first path's file into the second path's, and return the exit status."""
    source, target = map(Path, arguments)
    import torch  # before the limits: what it takes depends on how it was built

    torch.set_num_threads(1)
    nbytes = source.stat().st_size
    limit_memory(3 * nbytes + ROOM)
    limit_seconds(SECONDS + nbytes // BYTES_A_SECOND)
    sys.addaudithook(forbid)
    try:
        convert(source, target)
    except UserError as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "backslashreplace"))
        return REFUSED
    return 0


def convert(source: Path, target: Path) -> None:
    """Write the tensors of a file that torch saved as a safetensors file.

    A tensor that stands under several names is kept under the first. What is no tensor, such as a
    count of steps, is left out.

    Raises:
        UserError: torch does not read it, or it holds something that safetensors cannot.
    """
    import torch
    from safetensors.torch import save_file

    try:
        loaded = torch.load(source, map_location="cpu", weights_only=True, mmap=False)
    # torch, its archive reader and its allocator raise what they like, and advise to be less
    # careful: not a word of that is passed on.
    except Exception as error:
        raise UserError(f"{source}: {_cause(error)}") from error
    tensors = _tensors(source, loaded)
    try:
        save_file(tensors, target, {"format": "pt"})
    except Exception as error:
        raise UserError(f"{source}: its tensors cannot be written: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    if isinstance(error, ForbiddenError):
        return f"refused: reading it tried to do something tensors never need ({error})"
    text = str(error).lower()
    if isinstance(error, MemoryError) or "memory" in text or "alloc" in text:
        return "reading it takes far more memory than its size explains"
    return f"truncated or corrupt ({type(error).__name__})"


def _tensors(source: Path, loaded: Any) -> dict[str, Any]:
    """Return the tensors by name, as safetensors takes them."""
    import torch

    named = _named(source, loaded)
    known = {torch.float64, torch.float32, torch.float16, torch.bfloat16}
    known |= {torch.float8_e4m3fn, torch.float8_e5m2, torch.bool}
    known |= {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}
    known |= {torch.uint64, torch.uint32, torch.uint16}
    assert len(known) == len(ITEM_BYTES)
    kept: dict[str, Any] = {}
    seen = set()
    storages = set()
    left = 2 * source.stat().st_size
    for name, tensor in named.items():
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise UserError(f"{source}: {name!r} is a {type(tensor).__name__}, not a plain tensor")
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.dtype not in known:
            what = str(tensor.layout if tensor.layout != torch.strided else tensor.dtype)
            raise UserError(
                f"{source}: {name!r} is a tensor of {what.removeprefix('torch.')}, which "
                "cannot be read"
            )
        place = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and place in seen:
            continue
        seen.add(place)
        # A view may show one number a billion times.
        left -= tensor.numel() * tensor.element_size()
        if left < 0:
            raise UserError(f"{source}: its tensors claim to be larger than the file")
        # Two parts of one memory have to have their own; all others do without a copy.
        storage = tensor.untyped_storage().data_ptr()
        if storage in storages or not tensor.is_contiguous():
            tensor = tensor.clone(memory_format=torch.contiguous_format)  # noqa: PLW2901
        storages.add(storage)
        kept[name] = tensor.detach()
    return kept


def _tables(loaded: Any, depth: int = 0) -> Iterator[Any]:
    """Yield where the weights may be: inside first, since tensors around them are of training."""
    if isinstance(loaded, Mapping) and depth <= MOST_NESTED:
        for key in _INNER:
            yield from _tables(loaded.get(key), depth + 1)
        if depth:
            yield loaded


def _named(source: Path, loaded: Any) -> dict[str, Any]:
    for table in _tables(loaded):
        if found := _tensors_in(table):
            return _with_proper_names(source, found)
    own = _tensors_in(loaded)
    inner = loaded.items() if isinstance(loaded, Mapping) else ()
    parts = {name: found for name, part in inner if (found := _tensors_in(part))}
    most = max(map(len, parts.values()), default=0)
    if len(own) < most:
        best = [name for name, found in parts.items() if len(found) == most]
        if len(best) > 1:
            raise UserError(
                f"{source}: it holds the tensors of several models "
                f"({', '.join(shown_name(str(name)) for name in best)}); save those of one of "
                "them in a file, and open that"
            )
        own = parts[best[0]]
    if not own:
        raise UserError(f"{source}: it contains no named tensors")
    return _with_proper_names(source, own)


def _tensors_in(table: Any) -> dict[Any, Any]:
    import torch

    values = table.items() if isinstance(table, Mapping) else ()
    return {name: value for name, value in values if torch.is_tensor(value)}


def _with_proper_names(source: Path, tensors: dict[Any, Any]) -> dict[str, Any]:
    if not all(isinstance(name, str) and name.isprintable() for name in tensors):
        raise UserError(f"{source}: it contains a tensor without a valid name")
    return tensors
