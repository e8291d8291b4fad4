"""What a format gives: the bytes of a file, and those of the pictures beside it."""

from collections.abc import Mapping

from msgspec import Struct, field


class Written(Struct, frozen=True, eq=False):
    """A report in one format.

    Attributes:
        content: of the report's own file.
        pictures: what stands in a folder beside it, by the files' names.
    """

    content: bytes
    pictures: Mapping[str, bytes] = field(default_factory=dict)
