"""The Hub's cache on this disk, in the layout of huggingface_hub, and shared with it.

A model has a folder, ``models--org--name``. In it, ``refs/main`` has the commit that a branch was
last seen at, ``blobs`` holds contents by their digests, and ``snapshots/<commit>`` links to these.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from bertviewer.core.checkpoints.finding import WEIGHTS, WEIGHTS_INDEX, read_index
from bertviewer.core.saving.atomic_files import write_atomically
from bertviewer.core.sources.model_source import CONFIG, HubName, is_commit
from bertviewer.core.util.errors import UserError


class CachedModel(Struct, frozen=True):
    """A model at one commit, with the files that are in the cache.

    Attributes:
        name: its name, pinned to the commit.
        branches: the branches and tags that were last seen at this commit.
        nbytes: its size on the disk.
        modified: modification time of its newest file, in seconds since 1970.
        has_weights: whether its weights are in the cache.
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
    """Return the commit of a model that is in the cache; ``None`` if its configuration is not."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name.repo, CONFIG, cache, name.revision)
    if not isinstance(found, str):
        return None
    commit = Path(found).parent.name
    return HubName(name.repo, commit) if is_commit(commit) else None


def remember_branch(cache: Path, name: HubName, commit: str) -> None:
    """Store the commit of a branch or tag, for use without a network.

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
    """Store which files a commit does not have, for use without a network.

    As huggingface_hub does, by an empty file for each of them. In a cache that cannot be written,
    such as a shared one, nothing is stored, and the Hub is asked again.
    """
    with suppress(OSError):
        for file in files:
            mark = _absent(cache, name, file)
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


def is_known_absent(cache: Path, name: HubName, file: str) -> bool:
    """Return whether a commit is known not to have a file."""
    return _absent(cache, name, file).is_file()


def _absent(cache: Path, name: HubName, file: str) -> Path:
    return repository(cache, name.repo) / ".no_exist" / name.revision / file


def link(blob: Path, path: Path) -> None:
    """Link to a blob from a snapshot, or move it there where links are not supported.

    Raises:
        OSError: the cache cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        path.symlink_to(os.path.relpath(blob, path.parent))
    except OSError:
        blob.replace(path)


def cached_models(cache: Path) -> tuple[CachedModel, ...]:
    """Return the models in the cache that can be opened, newest first.

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
            if not (folder / CONFIG).is_file() or not is_commit(revision.commit_hash):
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
    """Return whether all weights of a snapshot are in the cache.

    Raises:
        UserError: its index is not valid.
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
        return False  # opening this model reports what is wrong
