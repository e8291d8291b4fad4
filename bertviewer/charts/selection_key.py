"""What a point of a chart stands for, and so what can be selected: plain data."""

from collections.abc import Sequence

from msgspec import Struct


class SelectionKey(Struct, frozen=True):
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

    def merged(self, other: "SelectionKey") -> "SelectionKey":
        """Return this place, its open parts taken from another."""
        return SelectionKey(
            *(
                getattr(other, name) if (own := getattr(self, name)) is None else own
                for name in self.__struct_fields__
            )
        )


def closest_keys(places: Sequence[SelectionKey], selection: SelectionKey) -> tuple[int, ...]:
    """Return the indices of the places that meet a selection most closely.

    No part that both name may differ, and both have to name one. A module is met by the modules
    inside of it, but less closely than by itself. There are none where all of several places meet
    it equally: that tells none of them apart.
    """
    found = [_closeness(place, selection) for place in places]
    best = max((closeness for closeness in found if closeness is not None), default=None)
    indices = tuple(n for n, closeness in enumerate(found) if closeness == best is not None)
    return () if len(indices) == len(places) > 1 else indices


def _closeness(place: SelectionKey, selection: SelectionKey) -> int | None:
    """Return how closely a place meets a selection, ``None`` if not at all; more is closer."""
    closeness = None
    for name in place.__struct_fields__:
        own, wanted = getattr(place, name), getattr(selection, name)
        if own is None or wanted is None:
            continue
        if own != wanted and not (name == "path" and own and wanted.startswith(f"{own}.")):
            return None
        closeness = (closeness or 0) + (len(own) if isinstance(own, str) else 1)
    return closeness
