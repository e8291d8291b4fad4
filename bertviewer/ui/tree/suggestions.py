"""Completions and examples of filter terms, from the modules of the open model. Without Qt."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from bertviewer.charts.translation import translate
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.tree.columns import natural
from bertviewer.ui.tree.filter import KEYED, KEYS, TOKEN, FilterKey, parse_filter
from bertviewer.ui.tree.rows import TreeItem

MOST = 200
"""Completions in a list."""
MOST_TRIED = 5_000
"""Modules that an example is tried on."""
_PREFIX = re.compile(r"\w+[:=<>]")
_THRESHOLDS = ("1G", "100M", "10M", "1M", "100K", "10K", "1K", "100", "10", "0")


class Suggestion(Struct, frozen=True):
    """A term, or the beginning of one.

    Attributes:
        text: replaces the term that is being typed.
        meaning: what it finds.
        is_complete: whether nothing has to be typed after it.
    """

    text: str
    meaning: str
    is_complete: bool = True


class TypedTerm(Struct, frozen=True):
    """The term at the cursor: where it starts and ends, and its text before the cursor."""

    start: int
    end: int
    text: str


def typed_at(text: str, cursor: int) -> TypedTerm | None:
    """Return the term that the cursor is in or behind, ``None`` between two terms."""
    for token in TOKEN.finditer(text):
        if token.start() < cursor <= token.end():
            return TypedTerm(token.start(), token.end(), text[token.start() : cursor])
    return None


class FilterSuggestions:
    """Completions and examples; the values of a key are collected on first use.

    Without modules, examples are those of ``KEYS``.
    """

    def __init__(self, items: Sequence[TreeItem]) -> None:
        self._items = items
        self._values: dict[str, Counter[str]] = {}

    def completions(self, typed: TypedTerm) -> list[Suggestion]:
        """Return what the term may become; nothing where it is complete."""
        minus = "-" if typed.text.startswith("-") else ""
        text = typed.text.removeprefix("-")
        found = KEYED.fullmatch(text)
        if found is None:
            keys = (key for key in KEYS if text.isalpha() and key.name.startswith(text.lower()))
            return [
                Suggestion(f"{minus}{_prefix(key)}", translate("filter", key.meaning), False)
                for key in keys
            ]
        key = next((key for key in KEYS if key.name == found[1].lower()), None)
        if key is None or found[2] not in (":", "="):
            return []
        before = f"{minus}{found[1]}{found[2]}"
        modules = translate("filter", "1 module"), translate("filter", "{0} modules")
        suggestions = [
            Suggestion(f"{before}{_quoted(value)}", count_text(count, *modules) if count else "")
            for value, count in self._matching(key, found[3])
        ]
        is_complete = [suggestion.text for suggestion in suggestions] == [typed.text]
        return [] if is_complete else suggestions

    def combined_example(self) -> tuple[str, str]:
        """Return two terms that match some module together: a class and a minimum size."""
        name = self.example(next(key for key in KEYS if key.name == "class"))
        sizes = [f"params>{threshold}" for threshold in _THRESHOLDS[3:]]
        return name, next((size for size in sizes if self._matches(f"{name} {size}")), sizes[0])

    def word(self) -> str:
        """Return a word in some path or class."""
        names = (item.row.node.name for item in self._tried())
        words = ("query", *filter(str.isidentifier, names))
        return next(filter(self._matches, words), "query")

    def example(self, key: FilterKey) -> str:
        """Return the usual example of a key, or one that matches something, if there is any."""
        candidates = (key.example, *self._alternatives(key))
        return next(filter(self._matches, candidates), key.example)

    def _alternatives(self, key: FilterKey) -> Iterator[str]:
        match key.name:
            case "params" | "macs":
                yield from (f"{key.name}>{threshold}" for threshold in _THRESHOLDS)
            case "layer":
                last = max((item.layer or 0 for item in self._tried()), default=0)
                yield from (f"layer:{max(0, last - 1)}-{last}", "layer:0")
            case "trained" | "trainable":
                yield f"{key.name}:yes"
            case "class":
                owners = (item for item in self._tried() if item.row.node.own_parameters)
                yield from _terms(
                    key, Counter(value for each in owners for value in _of(each, key))
                )
            case _ if key.kind in ("text", "shape"):
                values = (value for item in self._tried() for value in _of(item, key))
                yield from _terms(key, Counter(values))

    def _tried(self) -> Iterator[TreeItem]:
        return (item for item in islice(self._items, MOST_TRIED) if item.key)

    def _matches(self, text: str) -> bool:
        wanted = parse_filter(text)
        return any(map(wanted.matches, self._tried()))

    def _matching(self, key: FilterKey, typed: str) -> list[tuple[str, int]]:
        """Return the values that start with a text, then those that contain it, with counts."""
        if key.name not in self._values:
            found = (value for item in self._items for value in _of(item, key))
            self._values[key.name] = Counter(filter(_is_printable, found))
        counts = self._values[key.name]
        if key.kind == "flag":
            return [(value, 0) for value in ("yes", "no") if value.startswith(typed.casefold())]
        typed = re.sub(r"[×,]\s*", "x", typed.replace('"', "").strip("[(")).casefold()
        values = sorted(counts, key=natural)
        first = [value for value in values if value.casefold().startswith(typed)]
        if key.name in ("class", "name", "path"):
            first += [value for value in values if value.casefold().find(typed) > 0]
        return [(value, counts[value]) for value in first[:MOST]]


def _of(item: TreeItem, key: FilterKey) -> Iterator[str]:
    """Yield the filter value of one module, as a user types it; paths only down to the layers."""
    is_listed = key.kind in ("text", "shape") or key.name == "layer"
    if not is_listed or item.row.is_folded or (key.name == "path" and item.depth > 2):
        return
    value = key.value(item)
    if value not in (None, (), ""):
        yield "x".join(value) if key.kind == "shape" else str(value)


def _terms(key: FilterKey, counts: Counter[str]) -> Iterator[str]:
    """Yield terms for values from the most common one on, without those that need quotes."""
    sign = "=" if key.name == "name" else ":"
    for value, _ in counts.most_common():
        if not set(value) & set(' "'):
            yield f"{key.name}{sign}{value}"


def _is_printable(value: str) -> bool:
    return value.isprintable() and '"' not in value


def _prefix(key: FilterKey) -> str:
    """Return a key with the operator of its example."""
    found = _PREFIX.match(key.example)
    assert found is not None
    return found.group()


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) else value
