"""Buffers and fixed tables of a module on the meta device, computed from its configuration."""

from collections.abc import Collection
from typing import Any

from bertviewer.core.building.backend import default_dtype, seeded, torch
from bertviewer.core.schema.source_info import SEED

MAX_TABLE_ELEMENTS = 1 << 25
"""Untrained parameters with more elements together are frozen weights, not tables."""

_Key = tuple[str, str]
"""The path of a module, and the name of one of its tensors."""


def compute_buffers(
    module: Any, stored: Collection[str], dtype: torch.dtype, seed: int = SEED
) -> set[_Key]:
    """Compute a meta module's buffers and fixed tables on the CPU, as ``from_pretrained`` does.

    These are buffers that are not persistent or not in the checkpoint, and parameters that are
    neither trained nor in the checkpoint, such as sinusoidal positions. ``from_pretrained`` offers
    this only together with loading weights.

    Args:
        module: its other parameters stay on the meta device.
        stored: the names of the tensors in the checkpoint.
        dtype: torch's default dtype during it. ``from_config`` uses the configuration's dtype,
            ``from_pretrained`` float32.
        seed: for random buffers.

    Returns:
        The tensors that were computed.
    """
    computed: set[_Key] = set()
    marked: dict[_Key, torch.Tensor] = {}  # filled with a marker, to see whether a class sets them
    persistent = module.state_dict(keep_vars=True)
    for path, part in module.named_modules():
        for name, buffer in tuple(part.named_buffers(recurse=False, remove_duplicate=False)):
            full_name = _joined(path, name)
            if full_name in persistent and full_name in stored:
                continue
            empty = torch.empty_like(buffer, device="cpu")
            setattr(part, name, empty)
            if full_name not in persistent:
                computed.add((path, name))
            elif (marker := _marker(buffer.dtype)) is not None:
                marked[path, name] = empty.fill_(marker)
    tables = _fixed_tables(module, stored)
    for parameter in module.parameters():
        parameter._is_hf_initialized = True  # transformers' flag for initialize_weights to skip it
    for (path, name), table in tables.items():
        empty = torch.full_like(table, float("nan"), device="cpu")
        marked[path, name] = torch.nn.Parameter(empty, requires_grad=False)
        setattr(module.get_submodule(path), name, marked[path, name])
    with seeded(seed), default_dtype(dtype):
        module.initialize_weights()
    # A class may leave persistent buffers to the checkpoint. Parameters start with a constant.
    for key, tensor in marked.items():
        is_constant = key in tables and bool((tensor == tensor.flatten()[0]).all())
        if not (is_constant or _is_marked(tensor)):
            computed.add(key)
    return computed


def _fixed_tables(module: torch.nn.Module, stored: Collection[str]) -> dict[_Key, torch.Tensor]:
    """Return the parameters that are neither trained nor in the checkpoint."""
    found = {
        (path, name): parameter
        for path, part in module.named_modules()
        for name, parameter in part.named_parameters(recurse=False)
        if not parameter.requires_grad
        and parameter.is_floating_point()
        and parameter.numel()
        and _joined(path, name) not in stored
    }
    size = sum(parameter.numel() for parameter in found.values())
    return found if size <= MAX_TABLE_ELEMENTS else {}


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _marker(dtype: torch.dtype) -> float | None:
    """Return a value that no buffer of this dtype has, if there is one."""
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    return None if dtype is torch.bool else torch.iinfo(dtype).min


def _is_marked(buffer: torch.Tensor) -> bool:
    if buffer.is_floating_point() or buffer.is_complex():
        return bool(buffer.isnan().any())
    return bool(buffer.eq(_marker(buffer.dtype) or 0).any())
