"""The hub's cache on this disk, laid out as huggingface_hub lays it out, and shared with it.

A model has a folder, ``models--org--name``. In it, ``refs/main`` says at which commit a branch was
last seen, ``blobs`` holds contents by their digests, and ``snapshots/<commit>`` links to these.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from bertviewer.core.checkpoints.finding import read_index
from bertviewer.core.hub.listing import CONFIGURATION, WEIGHTS, WEIGHTS_INDEX
from bertviewer.core.saving.atomic_files import write_atomically
from bertviewer.core.sources.hub_name import HubName, is_commit
from bertviewer.core.util.errors import UserError


class CachedModel(Struct, frozen=True):
    """A model at one commit, as far as it is in the cache.

    Attributes:
        name: its name, pinned to the commit.
        branches: the branches and tags that were last seen at this commit.
        nbytes: how much it takes on the disk.
        modified: when its newest file came, in seconds since 1970.
        has_weights: whether its weights are there too.
    """

    name: HubName
    branches: tuple[str, ...]
    nbytes: int
    modified: float
    has_weights: bool


def repository(cache: Path, repo: str) -> Path:
    """Return the folder of a model in the cache, whether it exists or not."""
    return cache / "--".join(("models", *repo.split("/")))


def snapshot(cache: Path, name: HubName) -> Path:
    """Return the folder of a model at a commit, whether it exists or not."""
    assert name.is_pinned
    return repository(cache, name.repo) / "snapshots" / name.revision


def cached_commit(cache: Path, name: HubName) -> HubName | None:
    """Return a name pinned to what the cache has of it; ``None`` if it has no configuration."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name.repo, CONFIGURATION, cache, name.revision)
    if not isinstance(found, str):
        return None
    commit = Path(found).parent.name
    return HubName(name.repo, commit) if is_commit(commit) else None


def remember_branch(cache: Path, name: HubName, commit: str) -> None:
    """Write down which commit a branch or tag is at, for the time without a network.

    Raises:
        UserError: the cache cannot be written.
    """
    if name.is_pinned:
        return
    file = repository(cache, name.repo) / "refs" / name.revision
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_file() and file.read_text(encoding="utf-8") == commit:
            return
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {file}: {error}") from error
    write_atomically(file, commit.encode())


def remember_absent(cache: Path, name: HubName, files: Iterable[str]) -> None:
    """Write down which files a commit does not have, for the time without a network.

    huggingface_hub keeps this knowledge in the same place: an empty file for each of them. A cache
    that cannot be written, as one that many share, goes without: the hub is asked again.
    """
    with suppress(OSError):
        for file in files:
            place = _absent(cache, name, file)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()


def is_known_absent(cache: Path, name: HubName, file: str) -> bool:
    """Return whether it is known that a commit has no such file."""
    return _absent(cache, name, file).is_file()


def _absent(cache: Path, name: HubName, file: str) -> Path:
    return repository(cache, name.repo) / ".no_exist" / name.revision / file


def link(blob: Path, place: Path) -> None:
    """Put a blob into a snapshot: by a link, or by moving it where links cannot be made.

    Raises:
        OSError: the cache cannot be written.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    try:
        place.symlink_to(os.path.relpath(blob, place.parent))
    except OSError:
        blob.replace(place)


def cached_models(cache: Path) -> tuple[CachedModel, ...]:
    """Return the models in the cache that can be opened, the newest first.

    Raises:
        UserError: the cache cannot be read.
    """
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        found = scan_cache_dir(cache)
    except CacheNotFound:
        return ()
    except (OSError, ValueError) as error:
        raise UserError(f"{cache}: the Hub cache cannot be read: {error}") from error
    models = []
    for repo in found.repos:
        if repo.repo_type != "model":
            continue
        for revision in repo.revisions:
            folder = revision.snapshot_path
            if not (folder / CONFIGURATION).is_file() or not is_commit(revision.commit_hash):
                continue
            models.append(
                CachedModel(
                    HubName(repo.repo_id, revision.commit_hash),
                    tuple(sorted(revision.refs)),
                    revision.size_on_disk,
                    revision.last_modified,
                    _has_readable_weights(folder),
                )
            )
    return tuple(sorted(models, key=lambda model: model.modified, reverse=True))


def has_weights(folder: Path) -> bool:
    """Return whether all weights of a snapshot are there.

    Raises:
        UserError: it has an index that is none.
    """
    if (folder / WEIGHTS).is_file():
        return True
    index = folder / WEIGHTS_INDEX
    if not index.is_file():
        return False
    return all((folder / name).is_file() for name in set(read_index(index).values()))


def _has_readable_weights(folder: Path) -> bool:
    try:
        return has_weights(folder)
    except UserError:
        return False  # opening this model will say what is wrong; the others are listed
