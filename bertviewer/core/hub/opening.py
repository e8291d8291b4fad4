"""Opens a model from the hub: its small files now, its weights when they are needed."""

from contextlib import closing
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import find_checkpoint, read_index
from bertviewer.core.checkpoints.header import (
    PREFIX_BYTES,
    header_bytes,
    parse_header,
    read_header,
    shown_name,
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
from bertviewer.core.hub.download import download
from bertviewer.core.hub.listing import (
    CONFIGURATION,
    SMALL,
    TOKENIZER,
    WEIGHTS,
    WEIGHTS_INDEX,
    Listing,
    RemoteFile,
)
from bertviewer.core.hub.meter import Meter
from bertviewer.core.hub.refusals import Unreachable
from bertviewer.core.hub.requests import Tick, get_listing, read_bytes, remote_file
from bertviewer.core.sources.hub_name import HubName, parse_hub_name
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

FIRST_BYTES = 1 << 17
"""What is asked for of a file of weights at first: the header of a BERT takes a fifth of it."""


class HubModel(Struct, frozen=True):
    """A model from the hub, of which all but the weights is in the cache.

    Attributes:
        source: where it lies now, with its name pinned to a commit.
        checkpoint: its tensors, from the headers alone; a file may still have to come.
        why_no_weights: one plain line if it has none that can be had, else "".
        hub: where the rest comes from.
        listing: the files that it has there; ``None`` if the hub was not asked.
    """

    source: ModelSource
    checkpoint: Checkpoint | None
    why_no_weights: str
    hub: Hub
    listing: Listing | None

    def missing_bytes(self) -> int:
        """Return how many bytes of the weights are still to come."""
        return sum(file.nbytes for file in self._weights() if not self._place(file).is_file())

    def fetch(self, progress: Progress = no_progress) -> None:
        """Download the weights that are not here yet.

        Raises:
            Cancelled: the person asked to stop; what has come is kept for the next try.
            UserError: they cannot be had, or not written.
        """
        files, listing = self._weights(), self.listing
        if listing is None or not self.missing_bytes():
            return
        meter = Meter(progress, sum(file.nbytes for file in files))
        for file in files:
            meter.begin(f"Downloading {file.name}")
            download(self.hub, listing, file, meter)
        # Once more, and now from the disk, before any library reads them.
        find_checkpoint(self.source.path)

    def _weights(self) -> tuple[RemoteFile, ...]:
        if self.listing is None or self.checkpoint is None:
            return ()
        return tuple(self.listing.files[file.path.name] for file in self.checkpoint.files)

    def _place(self, file: RemoteFile) -> Path:
        return self.source.path / file.name


def open_hub(
    source: ModelSource, progress: Progress = no_progress, hub: Hub | None = None
) -> HubModel:
    """Have a model's configuration and tokenizer in the cache, and read its weights' headers.

    Without a connection, what is in the cache is opened as it is.

    Raises:
        Cancelled: the person asked to stop.
        UserError: the model cannot be had.
    """
    name, hub = parse_hub_name(source.name), hub or connect()
    cached = cached_commit(hub.cache, name)
    if cached is not None and name.is_pinned and _is_complete(hub.cache, cached):
        return _from_cache(source, hub, cached, "")
    label = f"Asking {hub.host} for {name.repo}"
    try:
        listing = get_listing(hub, name, lambda remark: progress(0, 0, _said(label, remark)))
    except Unreachable:
        if cached is None:
            raise
        return _from_cache(source, hub, cached, f"and {hub.host} cannot be reached")
    if name.is_pinned and listing.name != name:
        raise UserError(f"{name}: {hub.host} answers with another commit")
    return _from_hub(source, hub, name, listing, progress)


def _from_cache(source: ModelSource, hub: Hub, name: HubName, but: str) -> HubModel:
    folder, why = snapshot(hub.cache, name), ""
    checkpoint = find_checkpoint(folder) if has_weights(folder) else None
    if checkpoint is None:
        why = f"{name}: its weights are not in the local cache, {but}"
    opened = replace(source, name=str(name), path=folder)
    return HubModel(opened, checkpoint, why, hub, None)


def _from_hub(
    source: ModelSource, hub: Hub, wished: HubName, listing: Listing, progress: Progress
) -> HubModel:
    name = listing.name
    if CONFIGURATION not in listing.files:
        raise UserError(f"{name}: there is no {CONFIGURATION}")
    small = [file for file in listing.files.values() if file.name in SMALL]
    meter = Meter(progress, sum(file.nbytes for file in small))
    for file in small:
        meter.begin(f"Downloading {file.name}")
        download(hub, listing, file, meter)
    remember_branch(hub.cache, wished, name.revision)
    remember_absent(hub.cache, name, [file for file in SMALL if file not in listing.files])
    folder = snapshot(hub.cache, name)
    files = _weights_of(listing, folder)
    why = "" if files else f"{name}: it has no {WEIGHTS} on the Hub, and nothing else is downloaded"
    checkpoint = _checkpoint(hub, listing, files, folder, progress) if files else None
    return HubModel(replace(source, name=str(name), path=folder), checkpoint, why, hub, listing)


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
    hub: Hub, listing: Listing, files: tuple[RemoteFile, ...], folder: Path, progress: Progress
) -> Checkpoint:
    tensors: dict[str, StoredTensor] = {}

    def tick(label: str, done: int, remark: str) -> None:
        progress(done, len(files), _said(label, remark))

    for number, file in enumerate(files):
        place = folder / file.name
        label = f"Reading the header of {file.name}"
        tick(label, number, "")
        if place.is_file():
            found = read_header(place)
        else:
            raw = _header(hub, listing, file, place, partial(tick, label, number))
            found = parse_header(raw, place, file.nbytes)
        for tensor in found:
            tensors.setdefault(tensor.name, tensor)
    return Checkpoint(tuple(StoredFile(folder / file.name, file.nbytes) for file in files), tensors)


def _header(hub: Hub, listing: Listing, file: RemoteFile, place: Path, tick: Tick) -> bytes:
    """Return the first bytes of a remote file, at least as far as its header goes."""

    def between(start: int, stop: int) -> bytes:
        came = bytearray()
        asked = remote_file(hub, listing.name, file)
        with closing(read_bytes(asked, tick, start, stop, nbytes=stop - start)) as chunks:
            for chunk in chunks:
                came += chunk
                if len(came) >= stop - start:
                    break
        return bytes(came)

    raw = between(0, min(file.nbytes, FIRST_BYTES))
    needed = header_bytes(raw[:PREFIX_BYTES], place, file.nbytes)
    return raw if len(raw) >= needed else raw + between(len(raw), needed)


def _is_complete(cache: Path, name: HubName) -> bool:
    """Return whether all is here that the hub could be asked for.

    Another program may have left some of it. A ``tokenizer.json`` holds a whole tokenizer; its
    settings say how it is used.
    """
    folder = snapshot(cache, name)
    if not has_weights(folder):
        return False
    present = {file for file in TOKENIZER if (folder / file).is_file()}
    if present >= {"tokenizer.json", "tokenizer_config.json"}:
        return True
    return all(file in present or is_known_absent(cache, name, file) for file in TOKENIZER)


def _said(label: str, remark: str) -> str:
    return f"{label}: {remark}" if remark else label
