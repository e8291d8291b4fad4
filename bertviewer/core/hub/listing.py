"""Which files a model on the hub has, and which of them may be downloaded."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bertviewer.core.sources.hub_name import HubName, is_commit
from bertviewer.core.tokenization.files import SENTENCEPIECE_FILES
from bertviewer.core.util.errors import UserError

CONFIGURATION = "config.json"
WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    *SENTENCEPIECE_FILES,
)
SMALL = (CONFIGURATION, *TOKENIZER, WEIGHTS_INDEX)
"""What is downloaded when a model is opened; its weights come later."""

# A tokenizer for many languages takes 20 MB; what is far larger is no tokenizer.
MAX_SMALL_BYTES = 100_000_000

_SHARD = re.compile(r"\w[\w.-]{0,199}\.safetensors", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")


class RemoteFile(Struct, frozen=True):
    """A file on the hub.

    Attributes:
        name: its name in the repository.
        nbytes: its size.
        digest: what it must be when it is here: the SHA-256 of its content for a large file, the
            SHA-1 of git's blob for a small one. The hub's cache names files by it.
    """

    name: str
    nbytes: int
    digest: str


class Listing(Struct, frozen=True):
    """A model at one commit: the files of it that may be downloaded, by name."""

    name: HubName
    files: Mapping[str, RemoteFile]

    @property
    def weights(self) -> RemoteFile | None:
        """The one file of the weights, if they are in one."""
        return self.files.get(WEIGHTS)


def is_allowed(name: str) -> bool:
    """Return whether a file of that name may be downloaded at all: never code, never a pickle.

    A safetensors file may be, and is where it is ``WEIGHTS`` or the index names it.
    """
    return name in SMALL or _SHARD.fullmatch(name) is not None


def read_listing(name: HubName, data: Any) -> Listing:
    """Read the hub's description of a model at a revision.

    Raises:
        UserError: it is not what the hub gives.
    """
    try:
        commit, siblings = data["sha"], data["siblings"]
        found = [_file(entry) for entry in siblings if is_allowed(str(entry["rfilename"]))]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{name}: the Hub's description of the model cannot be read") from error
    if not isinstance(commit, str) or not is_commit(commit):
        raise UserError(f"{name}: the Hub does not say which commit that is")
    return Listing(HubName(name.repo, commit), {file.name: file for file in found})


def _file(entry: Mapping[str, Any]) -> RemoteFile:
    name, large = str(entry["rfilename"]), entry.get("lfs")
    if large:
        nbytes, digest = large["size"], str(large["sha256"])
    else:
        nbytes, digest = entry["size"], str(entry["blobId"])
    if type(nbytes) is not int or nbytes < 0:
        raise ValueError(name)
    if not (_SHA256 if large else _SHA1).fullmatch(digest):
        raise ValueError(name)
    if name in SMALL and nbytes > MAX_SMALL_BYTES:
        raise UserError(
            f"{name} on the Hub is {nbytes / 1e6:.0f} MB, far too large for such a file"
        )
    return RemoteFile(name, nbytes, digest)
