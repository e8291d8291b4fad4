"""What may stand where somebody types into the tree's filter. Without Qt."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bertviewer.charts.translation import translate
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.tree.cells import natural
from bertviewer.ui.tree.filter import KEYED, KEYS, TOKEN, Key
from bertviewer.ui.tree.rows import TreeItem

MOST = 200
"""Offers; nobody looks through more of them."""

_BEGINNING = re.compile(r"\w+[:=<>]")


class Offer(Struct, frozen=True):
    """A term, or the beginning of one.

    Attributes:
        text: what is put in the place of the term that is being typed.
        meaning: what it finds.
        is_whole: whether nothing is to be typed behind it.
    """

    text: str
    meaning: str
    is_whole: bool = True


class Typed(Struct, frozen=True):
    """The term around the cursor: where it begins and ends, and what of it is before the cursor."""

    start: int
    end: int
    text: str


class Completion:
    """Knows the values of each key in a model; they are gathered when a key is first typed."""

    def __init__(self, items: Sequence[TreeItem]) -> None:
        self._items = items
        self._values: dict[str, Mapping[str, int]] = {}

    def offers(self, typed: Typed) -> list[Offer]:
        """Return what the term may become; nothing where it is all there."""
        sign = "-" if typed.text.startswith("-") else ""
        text = typed.text.removeprefix("-")
        found = KEYED.fullmatch(text)
        if found is None:
            begun = (key for key in KEYS if text.isalpha() and key.name.startswith(text.lower()))
            return [
                Offer(f"{sign}{_beginning(key)}", translate("filter", key.meaning), False)
                for key in begun
            ]
        key = next((key for key in KEYS if key.name == found[1].lower()), None)
        if key is None or found[2] not in (":", "="):
            return []
        before = f"{sign}{found[1]}{found[2]}"
        modules = translate("filter", "1 module"), translate("filter", "{0} modules")
        offers = [
            Offer(f"{before}{_quoted(value)}", count_text(count, *modules) if count else "")
            for value, count in self._fitting(key.name, found[3])
        ]
        return [] if [offer.text for offer in offers] == [typed.text] else offers

    def _fitting(self, key: str, begun: str) -> list[tuple[str, int]]:
        """Return the values that begin like that, and then those that have it within."""
        if key not in self._values:
            self._values[key] = self._gathered(key)
        begun = re.sub(r"[×,]\s*", "x", begun.replace('"', "").strip("[(")).casefold()
        pairs = [(value.casefold(), value, count) for value, count in self._values[key].items()]
        first = [(value, count) for small, value, count in pairs if small.startswith(begun)]
        is_written = key in ("class", "name", "path")
        others = [
            (value, count)
            for small, value, count in pairs
            if is_written and begun in small and not small.startswith(begun)
        ]
        return (first + others)[:MOST]

    def _gathered(self, key: str) -> Mapping[str, int]:
        if key in ("trained", "trainable"):
            return {"yes": 0, "no": 0}
        counts = Counter(
            value
            for item in self._items
            if not item.row.is_folded
            for value in _values(item, key)
            if value.isprintable() and '"' not in value
        )
        return {value: counts[value] for value in sorted(counts, key=natural)}


def typed_at(text: str, cursor: int) -> Typed | None:
    """Return the term that the cursor stands behind or in, ``None`` between two of them."""
    for token in TOKEN.finditer(text):
        if token.start() < cursor <= token.end():
            return Typed(token.start(), token.end(), text[token.start() : cursor])
    return None


def _values(item: TreeItem, key: str) -> Iterator[str]:
    if key == "layer":
        if item.layer is not None:
            yield str(item.layer)
    elif key in ("shape", "output"):
        if sizes := item.sizes(key):
            yield "x".join(sizes)
    elif key == "path":
        # Down to what is in a layer: below that they are thousands.
        if item.key and item.depth <= 2:
            yield item.key
    elif key in ("class", "name", "part") and (written := item.written(key)):
        yield written


def _beginning(key: Key) -> str:
    """Return a key with the sign that is behind it in its example."""
    return _BEGINNING.match(key.example).group()  # type: ignore[union-attr]


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) else value
