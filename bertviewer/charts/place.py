"""What a point of a chart stands for, and so what can be selected: plain data."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Place:
    """What a point of a chart stands for, or what is selected.

    A part that is ``None`` is left open: selecting such a place leaves that part as it is.

    Attributes:
        path: a module.
        token: a token of the sentence, counted from 0.
        head: a head of the attention.
        feature: a dimension of the hidden vectors.
    """

    path: str | None = None
    token: int | None = None
    head: int | None = None
    feature: int | None = None

    def merged(self, other: "Place") -> "Place":
        """Return this place, its open parts taken from another."""
        return Place(
            *(
                getattr(other, part.name) if (own := getattr(self, part.name)) is None else own
                for part in fields(self)
            )
        )
