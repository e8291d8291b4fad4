"""One operand of an operation: a node's result, a parameter, a number."""

from bertviewer.core.util.serialization import Document

PARTS = ("part ", "chunk ", "split", "unbind ", "tensor_split ", "narrow ", "select ", "unfold ")
"""How the words for what is taken of a tensor begin."""
TRANSPOSED = "transposed"
"""What is said of a parameter whose rows and columns are exchanged on the way."""


class Operand(Document, frozen=True):
    """What one operation takes in one place; one of ``node`` to ``plain`` says what.

    Attributes:
        node: the id of the node that gives it.
        parts: what is taken of that, in order: ``chunk 0 of 2``; of a parameter ``TRANSPOSED``.
        parameter: the parameter that it is, by its whole name.
        role: what it is to the group around, where no node gives it.
        plain: a number or a word as the code has it; "" with all else empty is a tensor of which
            no more is known: the code's own, of one number, or one that nothing drawn gives.
        key: the name that the argument is given by, "" for one by its place.
    """

    JSON = "node?node parts?parts parameter?parameter role?role plain?plain key?key"

    node: str = ""
    parts: tuple[str, ...] = ()
    parameter: str = ""
    role: str = ""
    plain: str = ""
    key: str = ""

    @property
    def is_tensor(self) -> bool:
        """Whether it is no plain number or word."""
        return not self.plain
