"""What can be opened on the map: a module, or a group of operations in it."""

from msgspec import Struct
from msgspec.structs import replace


class Part(Struct, frozen=True):
    """A part of a model that has a flow of its own.

    Attributes:
        path: the module, empty for the whole model.
        groups: the groups in its flow that lead to it, by their ids, the outermost first.
        call: which call it is, of a module that several layers share.
    """

    path: str = ""
    groups: tuple[str, ...] = ()
    call: int = 0

    def group(self, key: str) -> "Part":
        """Return a group in it."""
        return replace(self, groups=(*self.groups, key))
