"""Listing of a Hub model: its commit, and the files that may be downloaded."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError

from bertviewer.core.checkpoints.finding import WEIGHTS_INDEX
from bertviewer.core.sources.model_source import CONFIG, HubName, is_commit
from bertviewer.core.tokenization.files import SENTENCEPIECE_FILES
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import convert

TOKENIZER_DOWNLOADS = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    *SENTENCEPIECE_FILES,
)
SMALL_FILES = (CONFIG, *TOKENIZER_DOWNLOADS, WEIGHTS_INDEX)
"""Files that are downloaded when a model is opened; the weights follow on request."""

MAX_SMALL_BYTES = 100_000_000
"""Size limit of these; the largest multilingual tokenizers have 20 MB."""

_SHARD = re.compile(r"\w[\w.-]{0,199}\.safetensors", re.ASCII)
_Size = Annotated[int, Meta(ge=0)]


class RemoteFile(Struct, frozen=True):
    """A file on the Hub.

    Attributes:
        name: its name in the repository.
        nbytes: its size.
        digest: SHA-256 of the content for a large file (Git LFS), SHA-1 of git's blob for a small
            one. The cache names files by it.
    """

    name: str
    nbytes: int
    digest: str


class Listing(Struct, frozen=True):
    """The downloadable files of a model at one commit, by name."""

    name: HubName
    files: Mapping[str, RemoteFile]


class _LargeFile(Struct, frozen=True):
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    size: _Size


class _File(Struct, frozen=True):
    rfilename: str
    size: _Size | None = None
    blobId: Annotated[str, Meta(pattern=r"\A[0-9a-f]{40}\Z")] | None = None  # noqa: N815 - JSON's
    lfs: _LargeFile | None = None


class _Description(Struct, frozen=True):
    """What the Hub answers to ``GET /api/models/<repo>/revision/<revision>?blobs=true``."""

    siblings: list[_File]
    sha: str | None = None


def is_allowed(name: str) -> bool:
    """Return whether a file of that name may be downloaded: never code, never a pickle.

    A safetensors file is downloaded only if it is ``WEIGHTS`` or the index names it.
    """
    return name in SMALL_FILES or _SHARD.fullmatch(name) is not None


def read_listing(name: HubName, data: Any) -> Listing:
    """Return the listing from the Hub's description of a model at a revision.

    Raises:
        UserError: the description is not valid, or a file is too large for its kind.
    """
    try:
        description = convert(data, _Description)
        files = [_remote_file(file) for file in description.siblings if is_allowed(file.rfilename)]
    except ValidationError as error:
        raise UserError(f"{name}: the Hub's description of the model cannot be read") from error
    if description.sha is None or not is_commit(description.sha):
        raise UserError(f"{name}: the Hub does not say which commit that is")
    return Listing(HubName(name.repo, description.sha), {file.name: file for file in files})


def _remote_file(file: _File) -> RemoteFile:
    nbytes, digest = file.size, file.blobId
    if file.lfs is not None:
        nbytes, digest = file.lfs.size, file.lfs.sha256
    if nbytes is None or digest is None:
        raise ValidationError(f"{file.rfilename} has no size or digest")
    if file.rfilename in SMALL_FILES and nbytes > MAX_SMALL_BYTES:
        raise UserError(
            f"{file.rfilename} on the Hub is {nbytes / 1e6:.0f} MB, far too large for such a file"
        )
    return RemoteFile(file.rfilename, nbytes, digest)
