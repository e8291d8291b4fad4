"""Weights of a checkpoint: read into memory by this program, put into a module by transformers.

transformers receives tensors and never a path, so it reads no file that was not checked: no shard
that an index names elsewhere, no adapter next to the weights, no code. Files are read and not
memory-mapped, as safetensors does: a file that is truncated meanwhile would end the process.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import FileIO
from itertools import groupby
from typing import Any

from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.building.backend import seeded, torch
from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.checkpoints.stored import ITEM_BYTES, Checkpoint, StoredTensor, check_version
from bertviewer.core.loading.matching import clean_keys, shown_path
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.util.errors import Cancelled, UserError, describe_error
from bertviewer.core.util.progress import Progress

CHUNK = 1 << 26
"""Bytes that are read between two progress reports."""
FLOATS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
"""The dtypes that weights are trained and run in, by safetensors' names."""
_DTYPES = FLOATS | {
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U64": torch.uint64,
    "U32": torch.uint32,
    "U16": torch.uint16,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def load_pretrained(  # noqa: PLR0917
    meta: nn.Module,
    config: Any,
    checkpoint: Checkpoint,
    report: LoadReport,
    progress: Progress,
    placeholders: Mapping[str, Any] | None = None,
) -> tuple[nn.Module, tuple[str, ...]]:
    """Return a module with a checkpoint's weights, in eval mode.

    Tensors that the checkpoint lacks are initialized from a fixed seed; their names, as
    transformers reports them, are returned in the order of the module.

    Args:
        meta: the same module on the meta device.
        config: transformers' configuration.
        checkpoint: where the weights are stored.
        report: how the checkpoint fits the module.
        progress: reports bytes, and may cancel.
        placeholders: objects by key that transformers gets instead of tensors that stay on disk.

    Raises:
        UserError: a file has changed, a weight is not a float, or transformers refuses them.
        Cancelled: by ``progress``.
    """
    unused = {*report.unexpected, *report.buffers}
    used = [tensor for key, tensor in checkpoint.tensors.items() if key not in unused]
    buffers = {report.stored.get(name) for name, _ in meta.named_buffers()}
    for tensor in used:
        is_buffer = tensor.name in buffers and tensor.dtype in ITEM_BYTES
        if tensor.dtype not in FLOATS and not is_buffer:
            raise UserError(
                f"{tensor.file}: {tensor.name} is stored as {tensor.dtype}, not as "
                "floating point, so the model cannot be run"
            )
    given = placeholders or {}
    read = {**read_state((t for t in used if t.name not in given), progress), **given}
    clean = clean_keys(meta, checkpoint)
    state = {clean[key]: values for key, values in read.items()}
    kind: Any = type(meta)
    with seeded(SEED):
        try:
            module, info = kind.from_pretrained(
                None,
                config=config,
                state_dict=state,
                # The dtype that the architecture shows, not one that the file may have.
                dtype=config.dtype or torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        except (Cancelled, MemoryError):
            raise
        except Exception as error:
            raise UserError(
                f"{shown_path(checkpoint)}: the weights cannot be loaded: {describe_error(error)}"
            ) from error
    trained = {name for name, p in meta.named_parameters() if p.requires_grad}
    random = trained.intersection(info["missing_keys"])
    # A tied tensor by its first name.
    return module.eval(), tuple(name for name, _ in module.named_parameters() if name in random)


def converted_bytes(checkpoint: Checkpoint, report: LoadReport) -> int:
    """Return the size of tensors stored in another dtype: for a moment both are in memory."""
    dtype = getattr(torch, report.dtype)
    return sum(t.nbytes for t in checkpoint.tensors.values() if FLOATS.get(t.dtype) != dtype)


def read_state(tensors: Iterable[StoredTensor], progress: Progress) -> dict[str, Tensor]:
    """Return tensors by key, in their stored dtype.

    Raises:
        UserError: a file cannot be read, or has changed since the model was opened.
        Cancelled: by ``progress``.
    """
    return {tensor.name: values for tensor, values in read_each(check_unchanged(tensors), progress)}


def check_unchanged(tensors: Iterable[StoredTensor]) -> list[StoredTensor]:
    """Check that files still have these tensors, and return them by file, with its version.

    Raises:
        UserError: a file was replaced, so that the offsets are those of other values.
    """
    wanted = sorted(tensors, key=lambda tensor: (tensor.file, tensor.offset))
    found: list[StoredTensor] = []
    for file, held in groupby(wanted, key=lambda tensor: tensor.file):
        now = {tensor.name: tensor for tensor in read_header(file)}
        for tensor in held:
            if now.get(tensor.name) != tensor:
                raise UserError(
                    f"{file}: the file has changed since it was opened; open the model again"
                )
            version = tensor.version or now[tensor.name].version
            found.append(replace(tensor, version=version))
    return found


def read_each(
    tensors: Sequence[StoredTensor], progress: Progress
) -> Iterator[tuple[StoredTensor, Tensor]]:
    """Yield tensors, which are sorted by file, in their stored dtype.

    A change of a file while it is read is detected at its end.

    Raises:
        UserError: a file cannot be read, or is not of the known version.
        Cancelled: by ``progress``.
    """
    total, done = sum(tensor.nbytes for tensor in tensors), 0
    for file, held in groupby(tensors, key=lambda tensor: tensor.file):
        version = None
        try:
            with file.open("rb", buffering=0) as opened:
                for tensor in held:
                    yield tensor, _read(tensor, opened, done, total, progress)
                    done += tensor.nbytes
                    version = tensor.version
                check_version(file, opened, version)
        except OSError as error:
            raise UserError(f"{file}: {error.strerror or error}") from error


def _read(tensor: StoredTensor, file: FileIO, done: int, total: int, progress: Progress) -> Tensor:
    values = torch.empty(tensor.nbytes, dtype=torch.uint8)
    buffer: memoryview = values.numpy().data
    file.seek(tensor.offset)
    at = 0
    while at < tensor.nbytes:
        progress(done + at, total, "Loading weights")
        count = file.readinto(buffer[at : at + CHUNK])
        if not count:
            raise UserError(f"{tensor.file}: the file was truncated while it was open")
        at += count
    return values.view(_DTYPES[tensor.dtype]).reshape(tensor.shape)
