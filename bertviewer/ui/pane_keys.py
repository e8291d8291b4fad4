"""The keys that a pane takes while the focus is in it, as one table beside that of the actions."""

from bertviewer.core.frozen import frozen
from bertviewer.ui.translation import QT_TRANSLATE_NOOP


@frozen
class PaneKeys:
    """What some keys do in a pane; the keys are named as Qt names them."""

    pane: str
    keys: tuple[str, ...]
    does: str


_STRUCTURE = QT_TRANSLATE_NOOP("keys", "Structure")
_FILTER = QT_TRANSLATE_NOOP("keys", "Filter of the structure")
_MAP = QT_TRANSLATE_NOOP("keys", "Map")
_STRIP = QT_TRANSLATE_NOOP("keys", "Strip above the map")
_TABLES = QT_TRANSLATE_NOOP("keys", "Tables")
_SOURCE = QT_TRANSLATE_NOOP("keys", "Source")
_SENTENCE = QT_TRANSLATE_NOOP("keys", "Sentence")
_TOKENS = QT_TRANSLATE_NOOP("keys", "Tokens")
_LAYERS = QT_TRANSLATE_NOOP("keys", "Layers")
_HEADS = QT_TRANSLATE_NOOP("keys", "All heads")
_HEAD = QT_TRANSLATE_NOOP("keys", "One head")
_SEARCH = QT_TRANSLATE_NOOP("keys", "Search")
_ANYWHERE = QT_TRANSLATE_NOOP("keys", "Anywhere")

PANE_KEYS = (
    PaneKeys(_ANYWHERE, ("F10",), QT_TRANSLATE_NOOP("keys", "Open the menu")),
    PaneKeys(
        _ANYWHERE, ("Tab", "Shift+Tab"), QT_TRANSLATE_NOOP("keys", "To the next control, or back")
    ),
    PaneKeys(
        _ANYWHERE,
        ("Menu", "Shift+F10"),
        QT_TRANSLATE_NOOP("keys", "What can be done with what is selected"),
    ),
    PaneKeys(
        _SEARCH, ("Up", "Down", "Tab"), QT_TRANSLATE_NOOP("keys", "Go through what was found")
    ),
    PaneKeys(_SEARCH, ("Return",), QT_TRANSLATE_NOOP("keys", "Choose it")),
    PaneKeys(_SEARCH, ("Esc",), QT_TRANSLATE_NOOP("keys", "Leave, and go on where you were")),
    PaneKeys(
        _SEARCH,
        (">", "#", "@", ":", "?"),
        QT_TRANSLATE_NOOP(
            "keys", "As the first sign: commands, tensors, tokens, settings or questions alone"
        ),
    ),
    PaneKeys(
        _STRUCTURE, ("Up", "Down"), QT_TRANSLATE_NOOP("keys", "Select the row above or below")
    ),
    PaneKeys(_STRUCTURE, ("Left", "Right"), QT_TRANSLATE_NOOP("keys", "Close a row, or open it")),
    PaneKeys(_STRUCTURE, ("*",), QT_TRANSLATE_NOOP("keys", "Open all rows below")),
    PaneKeys(
        _STRUCTURE, ("Return",), QT_TRANSLATE_NOOP("keys", "Look at the module closely, in the map")
    ),
    PaneKeys(
        _STRUCTURE,
        ("F3", "Shift+F3"),
        QT_TRANSLATE_NOOP("keys", "To the next match of the filter, or the one before"),
    ),
    PaneKeys(
        _FILTER,
        ("Return", "Shift+Return"),
        QT_TRANSLATE_NOOP("keys", "To the next match, or the one before"),
    ),
    PaneKeys(
        _FILTER,
        ("Down", "Up", "Tab"),
        QT_TRANSLATE_NOOP("keys", "Choose what completes a term, and take it"),
    ),
    PaneKeys(_FILTER, ("Down",), QT_TRANSLATE_NOOP("keys", "Into the structure")),
    PaneKeys(_FILTER, ("Esc",), QT_TRANSLATE_NOOP("keys", "Clear it")),
    PaneKeys(
        _MAP, ("Left", "Right", "Up", "Down"), QT_TRANSLATE_NOOP("keys", "Walk along the flow")
    ),
    PaneKeys(_MAP, ("Return",), QT_TRANSLATE_NOOP("keys", "Open the part")),
    PaneKeys(_MAP, ("Backspace",), QT_TRANSLATE_NOOP("keys", "Up to what is around it")),
    PaneKeys(_MAP, ("Home", "End"), QT_TRANSLATE_NOOP("keys", "To where it begins, or ends")),
    PaneKeys(
        _MAP, ("+", "-", "Shift+Up", "Shift+Down"), QT_TRANSLATE_NOOP("keys", "Zoom in, or out")
    ),
    PaneKeys(_MAP, ("0", "F", "Shift+Backspace"), QT_TRANSLATE_NOOP("keys", "Fit all of it")),
    PaneKeys(_MAP, ("Shift+Left", "Shift+Right"), QT_TRANSLATE_NOOP("keys", "From head to head")),
    PaneKeys(_MAP, ("W", "Esc"), QT_TRANSLATE_NOOP("keys", "Walk step by step, or end it")),
    PaneKeys(_MAP, ("Space",), QT_TRANSLATE_NOOP("keys", "Play the walk, or rest")),
    PaneKeys(_MAP, ("T",), QT_TRANSLATE_NOOP("keys", "The treemap, or the flow")),
    PaneKeys(
        _STRIP, ("Left", "Right", "Home", "End"), QT_TRANSLATE_NOOP("keys", "From block to block")
    ),
    PaneKeys(_TABLES, ("Ctrl+C",), QT_TRANSLATE_NOOP("keys", "Copy what is selected")),
    PaneKeys(_TABLES, ("Ctrl+Shift+C",), QT_TRANSLATE_NOOP("keys", "Copy all")),
    PaneKeys(
        _TABLES, ("Return",), QT_TRANSLATE_NOOP("keys", "Select the module that the row is about")
    ),
    PaneKeys(_SOURCE, ("Ctrl+F",), QT_TRANSLATE_NOOP("keys", "Find a text")),
    PaneKeys(
        _SOURCE,
        ("F3", "Shift+F3"),
        QT_TRANSLATE_NOOP("keys", "To the next match, or the one before"),
    ),
    PaneKeys(_SENTENCE, ("Return",), QT_TRANSLATE_NOOP("keys", "Run it")),
    PaneKeys(
        _SENTENCE, ("Up", "Down"), QT_TRANSLATE_NOOP("keys", "Sentences that were run before")
    ),
    PaneKeys(_TOKENS, ("Left", "Right"), QT_TRANSLATE_NOOP("keys", "Select a token")),
    PaneKeys(
        _TOKENS, ("Ctrl+C", "Ctrl+Shift+C"), QT_TRANSLATE_NOOP("keys", "Copy it, or all of them")
    ),
    PaneKeys(_LAYERS, ("Esc",), QT_TRANSLATE_NOOP("keys", "Select no feature any more")),
    PaneKeys(
        _HEADS,
        ("Left", "Right", "Up", "Down", "Home", "End"),
        QT_TRANSLATE_NOOP("keys", "Select a head"),
    ),
    PaneKeys(_HEAD, ("Up", "Down", "Home", "End"), QT_TRANSLATE_NOOP("keys", "Select a token")),
    PaneKeys(_HEAD, ("+", "-"), QT_TRANSLATE_NOOP("keys", "Zoom")),
    PaneKeys(_HEAD, ("0",), QT_TRANSLATE_NOOP("keys", "Show all of it")),
)
