"""Equal modules side by side, as the layers of a stack."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Repeat:
    """The run of equal siblings that a module belongs to, by their numbers in the parent."""

    first: int
    last: int
    count: int
