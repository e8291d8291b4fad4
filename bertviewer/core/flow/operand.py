"""One operand of an operation in words, as ``Node.details["operands"]`` has it."""

from dataclasses import dataclass

SEPARATOR = "; "
PARTS = ("part ", "chunk ", "split", "unbind ", "tensor_split ", "narrow ", "select ", "unfold ")
"""How the words for what is taken of a tensor begin."""
TRANSPOSED = "transposed"
"""What is said of a parameter whose rows and columns are exchanged on the way."""

_UNKNOWN, _ROLE, _LEARNT, _NODE = "#", "@", "%", "n"


@dataclass(frozen=True, slots=True)
class Operand:
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

    def text(self) -> str:
        """Return it in one word, which ``operands_in`` reads."""
        if self.node:
            told = " / ".join((self.node, *self.parts))
        elif self.parameter:
            told = " / ".join((f"{_LEARNT}{self.parameter}", *self.parts))
        elif self.role:
            told = f"{_ROLE}{self.role}"
        else:
            told = self.plain or _UNKNOWN
        return f"{self.key}={told}" if self.key else told


def operands_in(text: str) -> tuple[Operand, ...]:
    """Return the operands that were joined by ``SEPARATOR``."""
    return tuple(_read(each) for each in text.split(SEPARATOR) if each)


def _read(text: str) -> Operand:
    key, equals, rest = text.partition("=")
    if not (equals and key.isidentifier()):
        key, rest = "", text
    if rest == _UNKNOWN:
        return Operand(key=key)
    if rest.startswith(_LEARNT):
        name, *turned = rest[1:].split(" / ")
        return Operand(parameter=name, parts=tuple(turned), key=key)
    if rest.startswith(_ROLE):
        return Operand(role=rest[1:], key=key)
    node, *parts = rest.split(" / ")
    if node.startswith(_NODE) and node[1:2].isdecimal():
        return Operand(node, tuple(parts), key=key)
    return Operand(plain=rest, key=key)
