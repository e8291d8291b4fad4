"""A pattern: operations that belong together and compute one known thing."""

from collections.abc import Mapping

from msgspec import Struct, field

from bertviewer.core.schema.flow import KnownOperation
from bertviewer.core.util.serialization import Scalar


class Pattern(Struct, frozen=True):
    """Operations of a trace that compute one thing, view operations left out.

    ``name`` is the usual one if that is not ``operation``; ``details`` are as of ``Node``, and
    ``roles``, by operation and value, as of ``Edge.role``.
    """

    operation: KnownOperation
    operations: frozenset[int]
    name: str = ""
    details: Mapping[str, Scalar] = field(default_factory=dict)
    roles: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The operation that computes the result."""
        return max(self.operations)


class Patterns(Struct, frozen=True, dict=True):
    """The patterns of a trace by their operations.

    ``outer`` are the largest ones, ``inner`` the smallest: a feed-forward network's activation.
    """

    outer: Mapping[int, Pattern]
    inner: Mapping[int, Pattern]
