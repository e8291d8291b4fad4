"""All keys, by menu and by pane, as rows and as text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QKeySequence

from bertviewer.ui.action import Action, Entry, plain_title
from bertviewer.ui.pane_keys import PANE_KEYS
from bertviewer.ui.translation import translate

_NATIVE = QKeySequence.SequenceFormat.NativeText


@dataclass(frozen=True, slots=True)
class KeyRow:
    """Some keys, what they do, and in which menu or pane."""

    place: str
    does: str
    keys: str


def key_rows(entries: Sequence[Entry]) -> Iterator[KeyRow]:
    """Yield the keys of the actions, and then those of the panes."""
    for entry in entries:
        if isinstance(entry, Action) and entry.keys:
            menu = translate("actions", entry.menu).replace("&", "")
            yield KeyRow(menu, plain_title(entry), _written(entry.keys))
    for each in PANE_KEYS:
        pane, does = translate("keys", each.pane), translate("keys", each.does)
        yield KeyRow(pane, does, _written(each.keys))


def keys_text(rows: Iterable[KeyRow]) -> str:
    """Return rows as plain text, to be printed: the keys in one column below each place."""
    found = list(rows)
    width = max((len(row.keys) for row in found), default=0)
    lines: list[str] = []
    place = ""
    for row in found:
        if row.place != place:
            lines += ["", row.place] if lines else [row.place]
            place = row.place
        lines.append(f"  {row.keys.ljust(width)}  {row.does}")
    return "\n".join(lines)


def _written(keys: Sequence[str]) -> str:
    return ", ".join(QKeySequence(each).toString(_NATIVE) or each for each in keys)
