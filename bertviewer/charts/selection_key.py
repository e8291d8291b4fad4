"""Selection keys: what a point of a chart selects."""

from collections.abc import Sequence

from msgspec import Struct


class SelectionKey(Struct, frozen=True):
    """What a point of a chart selects, or what is selected; ``None`` leaves a part unchanged.

    Attributes:
        path: a module.
        token: the position of a token.
        head: an attention head.
        feature: a dimension of the hidden states.
    """

    path: str | None = None
    token: int | None = None
    head: int | None = None
    feature: int | None = None

    def merged(self, other: "SelectionKey") -> "SelectionKey":
        """Return this key with ``None`` replaced by the parts of another."""
        names = self.__struct_fields__
        pairs = ((getattr(self, name), getattr(other, name)) for name in names)
        return SelectionKey(*(theirs if own is None else own for own, theirs in pairs))


def closest_keys(keys: Sequence[SelectionKey], selection: SelectionKey) -> tuple[int, ...]:
    """Return the indices of the keys that match a selection best.

    All parts that both have must be equal, at least one; of paths the key's may also be a module
    around the selected one. If all of several keys match equally, none is returned, because the
    selection does not distinguish them.
    """
    found = [_closeness(key, selection) for key in keys]
    best = max((closeness for closeness in found if closeness is not None), default=None)
    indices = tuple(n for n, closeness in enumerate(found) if closeness == best is not None)
    return () if len(indices) == len(keys) > 1 else indices


def _closeness(key: SelectionKey, selection: SelectionKey) -> int | None:
    """Return how well a key matches a selection, ``None`` if not at all."""
    closeness = None
    for name in key.__struct_fields__:
        own, wanted = getattr(key, name), getattr(selection, name)
        if own is None or wanted is None:
            continue
        if own != wanted and not (name == "path" and own and wanted.startswith(f"{own}.")):
            return None
        closeness = (closeness or 0) + (len(own) if isinstance(own, str) else 1)
    return closeness
