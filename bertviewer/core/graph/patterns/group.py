"""A group of operations that is known as a whole."""

from collections.abc import Mapping
from dataclasses import field

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.frozen import frozen
from bertviewer.core.text.special_floats import Scalar


@frozen
class Group:
    """Operations of a trace that compute one thing.

    Movement is left out. ``name`` is what people call it if not ``operation``; ``details`` are as
    of ``Node``, and ``roles``, by operation and value, as of ``Edge.role``.
    """

    operation: KnownOperation
    operations: frozenset[int]
    name: str = ""
    details: Mapping[str, Scalar] = field(default_factory=dict)
    roles: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The operation that gives the result."""
        return max(self.operations)
