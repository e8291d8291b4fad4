"""Pickled weights that the user allowed to read: converted once, and cached by their hash."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.pickles.contents import PickleContents, read_contents
from bertviewer.core.pickles.converting import convert_pickle, pickle_files
from bertviewer.core.saving.atomic_files import PREFIX
from bertviewer.core.saving.disk_cache import cache_folder, evict, mark_used
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.files import sha256_of, unfinished
from bertviewer.core.util.log import write_log
from bertviewer.core.util.progress import Progress, no_progress

CACHE_BYTES = 20_000_000_000
"""Size of the cache; the least recently used weights are removed first."""


def consented_checkpoint(
    source: ModelSource, allowed: bool, progress: Progress = no_progress
) -> Checkpoint:
    """Return the checkpoint of safetensors files that a source's pickles are converted to.

    Args:
        source: of the kind ``pickle``; its path is a folder, a file or an index.
        allowed: whether the user allowed to read these files.
        progress: called while hashing and converting.

    Raises:
        UserError: it is not allowed, a file is damaged or contains more than tensors, or the helper
            process failed.
    """
    files = pickle_files(source.path)
    if not allowed:
        raise UserError(consent_message(source))
    folder = converted_folder(source.path, digest(files, progress), progress)
    checkpoint = find_checkpoint(folder)
    assert checkpoint is not None
    made = sorted(checkpoint.files, key=lambda file: file.path.name)  # numbered as they were read
    own = tuple(
        replace(file, nbytes=pickle.stat().st_size, pickle=pickle)
        for file, pickle in zip(made, files, strict=True)
    )
    return replace(checkpoint, files=own)


def consent_message(source: ModelSource) -> str:
    """Return the error message for a source whose weights the user did not allow to read."""
    instead = "" if source.config_file is None else f"; {source.config_file} opens without them"
    return (
        f"{pickle_files(source.path)[0]} is a pickle, which can run code when it is loaded; "
        "confirm when opening it, or pass --allow-pickle, to read only its tensors, in a separate "
        f"process{instead}"
    )


class PickleReview(Struct, frozen=True):
    """What the user should know before allowing to read pickles.

    Attributes:
        files: the contents of each file.
        key: the hash of all files; the consent is to these bytes only.
    """

    files: tuple[PickleContents, ...]
    key: str

    @property
    def refusal(self) -> str:
        """Why they are not read in any case; empty if they contain nothing but tensors."""
        return next((file.refusal for file in self.files if file.refusal), "")


def review(path: Path, progress: Progress = no_progress) -> PickleReview:
    """Return what the pickles of a folder, an index or a file contain, without running them.

    Raises:
        UserError: one cannot be read, or does not contain weights.
    """
    files = pickle_files(path)
    contents = []
    for number, file in enumerate(files):
        progress(number, len(files), f"Inspecting {file.name}")
        contents.append(read_contents(file))
    return PickleReview(tuple(contents), digest(files, progress))


def digest(files: tuple[Path, ...], progress: Progress = no_progress) -> str:
    """Return the SHA-256 of a file; of several, that of their concatenated hashes."""
    hashes = [sha256_of(file, progress) for file in files]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def converted_folder(path: Path, key: str, progress: Progress = no_progress) -> Path:
    """Return the cached folder of weights with the hash ``key``; convert them if necessary.

    Raises:
        UserError: they cannot be converted, or the disk has no room for them.
    """
    cache = cache_folder("converted")
    folder = cache / key
    files = pickle_files(path)
    try:
        if _is_valid(folder):
            return folder
        before = [_version(file) for file in files]
        nbytes = sum(size for size, _ in before)
        cache.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(cache).free < nbytes:
            raise UserError(
                f"{cache}: not enough disk space for {nbytes / 1e9:.1f} GB of converted weights"
            )
        with (
            tempfile.TemporaryDirectory(dir=cache, prefix=PREFIX) as made,
            unfinished(Path(made)),
        ):
            work = Path(made) / key
            work.mkdir()
            convert_pickle(path, work, progress)
            if [_version(file) for file in files] != before:
                raise UserError(f"{files[0]}: the file changed while it was being read")
            try:
                work.replace(folder)
            except OSError:
                # Another process may have been faster.
                if not _is_valid(folder):
                    raise
    except OSError as error:
        raise UserError(f"{cache}: weights cannot be converted: {error_reason(error)}") from error
    evict(cache, CACHE_BYTES, keep=folder)
    return folder


def _version(file: Path) -> tuple[int, int]:
    state = file.stat()
    return state.st_size, state.st_mtime_ns


def _is_valid(folder: Path) -> bool:
    """Return whether a folder of converted weights exists; a damaged one is removed."""
    if not folder.is_dir():
        return False
    try:
        if find_checkpoint(folder) is not None:
            mark_used(folder)
            return True
    except UserError as error:
        write_log(f"weights are converted again: {error}")
    shutil.rmtree(folder)
    return False
