"""Opening a Hub model: configuration, tokenizer and headers at once, weights on request."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import (
    WEIGHTS,
    WEIGHTS_INDEX,
    find_checkpoint,
    read_index,
)
from bertviewer.core.checkpoints.header import (
    PREFIX_BYTES,
    header_bytes,
    parse_header,
    read_header,
)
from bertviewer.core.checkpoints.stored import Checkpoint, StoredFile, StoredTensor
from bertviewer.core.hub.cache import (
    cached_commit,
    has_weights,
    is_known_absent,
    remember_absent,
    remember_branch,
    snapshot,
)
from bertviewer.core.hub.connection import Hub, connect
from bertviewer.core.hub.download import DownloadProgress, download, file_request, get_listing
from bertviewer.core.hub.listing import SMALL_FILES, TOKENIZER_DOWNLOADS, Listing, RemoteFile
from bertviewer.core.hub.transfers import (
    Request,
    Tick,
    TransferProcess,
    Unreachable,
    transfer_process,
)
from bertviewer.core.sources.model_source import CONFIG, HubName, ModelSource, parse_hub_name
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.text import shown_name

FIRST_BYTES = 1 << 17
"""Bytes that are first requested of a weight file; BERT's header takes a fifth of it."""


class HubModel(Struct, frozen=True):
    """A Hub model, of which everything but the weights is in the cache.

    Attributes:
        source: where it is in the cache, with its name pinned to a commit.
        checkpoint: its tensors, read from the headers; the files may still be on the Hub.
        why_no_weights: one line if there are no weights to download, else an empty string.
        hub: where the weights come from.
        listing: the files that the Hub has; ``None`` if it was not asked.
    """

    source: ModelSource
    checkpoint: Checkpoint | None
    why_no_weights: str
    hub: Hub
    listing: Listing | None

    def missing_bytes(self) -> int:
        """Return how many bytes of the weights are not in the cache."""
        return sum(
            file.nbytes for file in self._weights() if not (self.source.path / file.name).is_file()
        )

    def fetch(self, progress: Progress = no_progress) -> None:
        """Download the weights that are not in the cache.

        Raises:
            Cancelled: by ``progress``; what was downloaded is kept for the next try.
            UserError: they cannot be downloaded or written.
        """
        if self.listing is None or not self.missing_bytes():
            return
        with transfer_process(self.hub) as process:
            _download_all(process, self.listing, self._weights(), progress)
        # From the disk now, before any library reads them.
        find_checkpoint(self.source.path)

    def _weights(self) -> tuple[RemoteFile, ...]:
        if self.listing is None or self.checkpoint is None:
            return ()
        return tuple(self.listing.files[file.path.name] for file in self.checkpoint.files)


def open_hub(
    source: ModelSource, progress: Progress = no_progress, hub: Hub | None = None
) -> HubModel:
    """Download a model's configuration and tokenizer, and read the headers of its weights.

    Without a connection, what is in the cache is opened.

    Raises:
        Cancelled: by ``progress``.
        UserError: the model cannot be opened.
    """
    name, hub = parse_hub_name(source.name), hub or connect()
    cached = cached_commit(hub.cache, name)
    if cached is not None and name.is_pinned and _is_complete(hub.cache, cached):
        return _from_cache(source, hub, cached, "")
    label = f"Asking {hub.host} for {name.repo}"
    with transfer_process(hub) as process:
        try:
            listing = get_listing(
                process, name, lambda _, remark: progress(0, 0, _with_remark(label, remark))
            )
        except Unreachable:
            if cached is None:
                raise
            return _from_cache(source, hub, cached, f"and {hub.host} cannot be reached")
        if name.is_pinned and listing.name != name:
            raise UserError(f"{name}: {hub.host} answers with another commit")
        return _from_hub(process, source, name, listing, progress)


def _from_cache(source: ModelSource, hub: Hub, name: HubName, reason: str) -> HubModel:
    folder, why = snapshot(hub.cache, name), ""
    checkpoint = find_checkpoint(folder) if has_weights(folder) else None
    if checkpoint is None:
        why = f"{name}: its weights are not in the local cache, {reason}"
    opened = replace(source, name=str(name), path=folder)
    return HubModel(opened, checkpoint, why, hub, None)


def _from_hub(
    process: TransferProcess,
    source: ModelSource,
    requested: HubName,
    listing: Listing,
    progress: Progress,
) -> HubModel:
    name, hub = listing.name, process.hub
    if CONFIG not in listing.files:
        raise UserError(f"{name}: there is no {CONFIG}")
    small = tuple(file for file in listing.files.values() if file.name in SMALL_FILES)
    _download_all(process, listing, small, progress)
    remember_branch(hub.cache, requested, name.revision)
    remember_absent(hub.cache, name, [file for file in SMALL_FILES if file not in listing.files])
    folder = snapshot(hub.cache, name)
    files = _weights_of(listing, folder)
    why = "" if files else f"{name}: it has no {WEIGHTS} on the Hub, and nothing else is downloaded"
    checkpoint = _checkpoint(process, listing, files, progress) if files else None
    return HubModel(replace(source, name=str(name), path=folder), checkpoint, why, hub, listing)


def _download_all(
    process: TransferProcess, listing: Listing, files: tuple[RemoteFile, ...], progress: Progress
) -> None:
    downloaded = DownloadProgress(progress, sum(file.nbytes for file in files))
    for file in files:
        downloaded.label = f"Downloading {file.name}"
        download(process, listing, file, downloaded)


def _weights_of(listing: Listing, folder: Path) -> tuple[RemoteFile, ...]:
    if WEIGHTS in listing.files:
        return (listing.files[WEIGHTS],)
    if WEIGHTS_INDEX not in listing.files:
        return ()
    index = folder / WEIGHTS_INDEX
    names = dict.fromkeys(read_index(index).values())
    for name in names:
        if name not in listing.files:
            raise UserError(
                f"{index}: its index names {shown_name(name)}, which the Hub does not have"
            )
    return tuple(listing.files[name] for name in names)


def _checkpoint(
    process: TransferProcess, listing: Listing, files: tuple[RemoteFile, ...], progress: Progress
) -> Checkpoint:
    """Return the checkpoint as the headers of its files describe it."""
    folder = snapshot(process.hub.cache, listing.name)
    tensors: dict[str, StoredTensor] = {}
    for number, file in enumerate(files):
        path = folder / file.name
        label = f"Reading the header of {file.name}"

        def tick(_nbytes: int, remark: str, number: int = number, label: str = label) -> None:
            progress(number, len(files), _with_remark(label, remark))

        tick(0, "")
        if path.is_file():
            found = read_header(path)
        else:
            request = file_request(process, listing.name, file)
            raw = _header(process, request, path, file.nbytes, tick)
            found = parse_header(raw, path, file.nbytes)
        for tensor in found:
            tensors.setdefault(tensor.name, tensor)
    return Checkpoint(tuple(StoredFile(folder / file.name, file.nbytes) for file in files), tensors)


def _header(
    process: TransferProcess, request: Request, path: Path, file_bytes: int, tick: Tick
) -> bytes:
    """Return the first bytes of a remote file, at least as far as its header goes."""
    stop = min(file_bytes, FIRST_BYTES)
    raw = process.read(replace(request, stop=stop, nbytes=stop), tick)[:stop]
    needed = header_bytes(raw[:PREFIX_BYTES], path, file_bytes)
    if len(raw) < needed:
        start, missing = len(raw), needed - len(raw)
        rest = replace(request, start=start, stop=needed, nbytes=missing)
        raw += process.read(rest, tick)[:missing]
    return raw


def _is_complete(cache: Path, name: HubName) -> bool:
    """Return whether a snapshot has every file that could be downloaded.

    Another program may have downloaded a part of it. A ``tokenizer.json`` holds a whole tokenizer;
    ``tokenizer_config.json`` says how it is used.
    """
    folder = snapshot(cache, name)
    if not has_weights(folder):
        return False
    present = {file for file in TOKENIZER_DOWNLOADS if (folder / file).is_file()}
    if present >= {"tokenizer.json", "tokenizer_config.json"}:
        return True
    return all(
        file in present or is_known_absent(cache, name, file) for file in TOKENIZER_DOWNLOADS
    )


def _with_remark(label: str, remark: str) -> str:
    return f"{label}: {remark}" if remark else label
