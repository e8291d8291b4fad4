"""A checkpoint's weights in a module: read by this program, put in their places by transformers.

transformers is given tensors and never a path. So it reads no file that was not checked: no shard
that an index names elsewhere, no adapter beside the weights, no code.
"""

from collections.abc import Collection, Mapping
from typing import Any

from torch import nn

from bertviewer.core.building.backend import torch
from bertviewer.core.building.seeded import seeded
from bertviewer.core.checkpoints.keys import KeyReport
from bertviewer.core.checkpoints.stored import ITEM_BYTES, Checkpoint
from bertviewer.core.loading.matching import clean_keys, where
from bertviewer.core.loading.state import FLOATS, read_state
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.util.errors import Cancelled, UserError, describe_error
from bertviewer.core.util.progress import Progress


def load_pretrained(  # noqa: PLR0917
    like: nn.Module,
    config: Any,
    checkpoint: Checkpoint,
    keys: KeyReport,
    progress: Progress,
    stand_ins: Mapping[str, Any] | None = None,
) -> tuple[nn.Module, tuple[str, ...]]:
    """Return a module with a checkpoint's weights, in eval mode, and the names of random tensors.

    Tensors that the checkpoint lacks are drawn at random, and the same in every run. Their names
    are what transformers found out while it loaded, in the order of the module's.

    Args:
        like: the same module on the meta device.
        config: its configuration, as transformers has it.
        checkpoint: where the weights are stored.
        keys: how the two fit together.
        progress: is told of the bytes that have been read.
        stand_ins: what transformers gets for tensors that are not to be read, by their keys.

    Raises:
        UserError: a file has changed, a weight is no float, or transformers refuses them.
    """
    unused = {*keys.unexpected, *keys.buffers}
    used = [tensor for key, tensor in checkpoint.tensors.items() if key not in unused]
    buffers = {keys.stored.get(name) for name, _ in like.named_buffers()}
    for tensor in used:
        is_buffer = tensor.name in buffers and tensor.dtype in ITEM_BYTES
        if tensor.dtype not in FLOATS and not is_buffer:
            raise UserError(
                f"{tensor.file}: {tensor.name} is stored as {tensor.dtype}, not as "
                "floating point, so the model cannot be run"
            )
    left = stand_ins or {}
    read = {**read_state((t for t in used if t.name not in left), progress), **left}
    clean = clean_keys(like, checkpoint)
    state = {clean[key]: values for key, values in read.items()}
    kind: Any = type(like)
    with seeded(SEED):
        try:
            module, info = kind.from_pretrained(
                None,
                config=config,
                state_dict=state,
                # The dtype that the architecture shows, and not one that the file may have.
                dtype=config.dtype or torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        except (Cancelled, MemoryError):
            raise
        except Exception as error:
            raise UserError(
                f"{where(checkpoint)}: the weights cannot be loaded: {describe_error(error)}"
            ) from error
    trained = {name for name, p in like.named_parameters() if p.requires_grad}
    return module.eval(), _random(module, trained.intersection(info["missing_keys"]))


def converted_bytes(checkpoint: Checkpoint, keys: KeyReport) -> int:
    """Return the size of what is stored in another dtype: it is in memory twice for a moment."""
    dtype = getattr(torch, keys.dtype)
    return sum(t.nbytes for t in checkpoint.tensors.values() if FLOATS.get(t.dtype) != dtype)


def _random(module: nn.Module, missing: Collection[str]) -> tuple[str, ...]:
    """Return the learnt tensors among the missing ones, a tied one by its first name alone."""
    return tuple(name for name, _ in module.named_parameters() if name in missing)
