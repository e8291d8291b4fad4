"""Examples of what may be typed into the tree's filter, which find something in the open model.

Without Qt.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from bertviewer.ui.tree.filter import KEYS, Key, parse_filter
from bertviewer.ui.tree.rows import TreeItem

MOST = 5_000
"""Modules that an example is tried on."""
_THRESHOLDS = ("1G", "100M", "10M", "1M", "100K", "10K", "1K", "100", "10", "0")


class FilterExamples:
    """Finds examples for the modules of a model; without modules they are those of the keys."""

    def __init__(self, items: Sequence[TreeItem]) -> None:
        self._items = [item for item in islice(items, MOST) if item.key]

    def together(self) -> tuple[str, str]:
        """Return a class and a least size of which there are modules: the two may be combined."""
        usual = "class:Linear", "params>1M"
        if not self._items:
            return usual
        made = self.of(next(key for key in KEYS if key.name == "class"))
        sizes = (f"params>{least}" for least in _THRESHOLDS[3:])
        return made, next((size for size in sizes if self._finds(f"{made} {size}")), usual[1])

    def word(self) -> str:
        """Return a word that is in a path or a class."""
        names = (item.row.node.name for item in self._items)
        others = (name for name in names if name.isidentifier())
        return next((word for word in ("query", *others) if self._finds(word)), "query")

    def of(self, key: Key) -> str:
        """Return the usual example of a key, or else one that finds something, if there is any."""
        if not self._items:
            return key.example
        return next(filter(self._finds, (key.example, *self._others(key))), key.example)

    def _others(self, key: Key) -> Iterator[str]:
        match key.name:
            case "params" | "macs":
                yield from (f"{key.name}>{least}" for least in _THRESHOLDS)
            case "layer":
                last = max((item.layer or 0 for item in self._items), default=0)
                yield from (f"layer:{max(0, last - 1)}-{last}", "layer:0")
            case "shape" | "output":
                found = (item.sizes(key.name) for item in self._items)
                yield from ("".join((key.name, ":", "x".join(sizes))) for sizes in found if sizes)
            case "class":
                yield from (f"class:{name}" for name in self._most(key.name, has_weights=True))
            case "name":
                yield from (f"name={name}" for name in self._most(key.name))
            case "path" | "part":
                yield from (f"{key.name}:{name}" for name in self._most(key.name))
            case "trained" | "trainable":
                yield f"{key.name}:yes"

    def _most(self, key: str, *, has_weights: bool = False) -> Iterator[str]:
        """Yield the texts that most modules have, which stand without quotes."""
        texts = (
            item.written(key)
            for item in self._items
            if not has_weights or (item.row.node.own_parameters and not item.row.is_folded)
        )
        counts = Counter(text for text in texts if text)
        return (text for text, _ in counts.most_common() if not set(text) & set(' "'))

    def _finds(self, text: str) -> bool:
        terms = parse_filter(text).terms
        return any(all(term.fits(item) for term in terms) for item in self._items)
