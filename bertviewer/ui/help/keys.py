"""All keys, by menu and by pane, as rows and as text."""

from collections.abc import Iterable, Iterator, Sequence

from bertviewer.core.frozen import frozen
from bertviewer.ui.action import NUMBERED, Action, Entry, option_keys, plain_title, written_keys
from bertviewer.ui.pane_keys import PANE_KEYS
from bertviewer.ui.translation import translate


@frozen
class KeyRow:
    """Some keys, what they do, and in which menu or pane."""

    place: str
    does: str
    keys: str


def key_rows(entries: Sequence[Entry]) -> Iterator[KeyRow]:
    """Yield the keys of the actions, and then those of the panes."""
    for entry in entries:
        if entry.keys:
            menu = translate("actions", entry.menu).replace("&", "")
            yield KeyRow(menu, plain_title(entry), _keys(entry))
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


def _keys(entry: Entry) -> str:
    if isinstance(entry, Action):
        return _written(entry.keys)
    return " … ".join(_written((option_keys(entry, place),)) for place in (0, NUMBERED - 1))


def _written(keys: Sequence[str]) -> str:
    return ", ".join(written_keys(each) or each for each in keys)
