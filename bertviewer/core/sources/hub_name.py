"""What a person writes to name a model on the hub: ``hf://org/name[@revision]``."""

import re

from msgspec import Struct

from bertviewer.core.util.errors import UserError

SCHEME = "hf://"

# The hub's own rules: letters, digits, "-", "_" and ".", and at most 96 characters.
_PART = r"[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?"
_REPO = re.compile(rf"(?:{_PART}/)?{_PART}", re.ASCII)
_REVISION = re.compile(r"[\w][\w./+-]{0,199}", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


class HubName(Struct, frozen=True):
    """A model on the hub: ``repo`` is ``org/name``; ``revision`` a branch, a tag or a commit."""

    repo: str
    revision: str = "main"

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a full commit, which nobody can move."""
        return is_commit(self.revision)

    def __str__(self) -> str:
        """Return the name as ``parse_hub_name`` reads it."""
        return f"{SCHEME}{self.repo}@{self.revision}"


def is_commit(revision: str) -> bool:
    """Return whether ``revision`` is a full commit."""
    return _COMMIT.fullmatch(revision) is not None


def parse_hub_name(text: str) -> HubName:
    """Read ``hf://org/name`` or ``hf://org/name@revision``, with or without ``hf://``.

    Raises:
        UserError: it is neither.
    """
    repo, at, revision = text.strip().removeprefix(SCHEME).partition("@")
    parts = repo.split("/")
    if not _REPO.fullmatch(repo) or any("--" in part or ".." in part for part in parts):
        raise UserError(f"{text!r}: a Hub model is written as {SCHEME}org/name[@revision]")
    if not at:
        return HubName(repo)
    if not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision:
        raise UserError(f"{text!r}: {revision!r} is not a branch, a tag or a commit")
    if revision.endswith(("/", ".lock")):
        raise UserError(f"{text!r}: {revision!r} is not a branch, a tag or a commit")
    return HubName(repo, revision)
