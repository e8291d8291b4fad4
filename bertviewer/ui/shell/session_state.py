"""What is remembered from one session to the next: plain data, written as one text.

Settings may have been written by another version, by hand, or in part: what is not valid is left
out, and the rest is taken.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, field
from msgspec.structs import asdict, replace

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.serialization import convert, convert_valid

LONGEST = 10_000
"""Characters of a sentence that is remembered."""
MOST_SENTENCES = 50
MOST_ROWS = 2_000
MOST_PIXELS = 2**20
MOST_BYTES = 100_000
"""Of Qt's own description of a layout; it takes a few hundred."""


NO_SENTENCE = Sentence("")
_Place = Annotated[int, Meta(gt=-MOST_PIXELS, lt=MOST_PIXELS)]
_Size = Annotated[int, Meta(gt=0, lt=MOST_PIXELS)]


class WindowState(Struct, frozen=True):
    """Where the window was.

    Attributes:
        place: left, top, width and height while it is not maximised.
        is_maximised: whether it filled its screen.
        layout: Qt's description of docks and bars.
        moved: the panes that the user has put somewhere.
        wished: whether a pane is shown, where the user chose that.
    """

    place: tuple[_Place, _Place, _Size, _Size] | None = None
    is_maximised: bool = False
    layout: bytes = b""
    moved: tuple[str, ...] = ()
    wished: Mapping[str, bool] = field(default_factory=dict)


class ModelState(Struct, frozen=True):
    """What was looked at in a model.

    Attributes:
        name: by which it is opened again.
        task: its head.
        row: the key of the selected row of the tree.
        expanded: the keys of the open rows, ``None`` where there were too many.
    """

    name: str = ""
    task: str = ""
    row: str = ""
    expanded: Annotated[tuple[str, ...], Meta(max_length=MOST_ROWS)] | None = None


class SessionState(Struct, frozen=True):
    """All of it. ``pages`` has the title of the page in sight by the tabs' object name."""

    window: WindowState = WindowState()
    model: ModelState | None = None
    pages: Mapping[str, str] = field(default_factory=dict)
    sentence: Sentence = NO_SENTENCE
    history: tuple[Sentence, ...] = ()

    def to_text(self) -> str:
        """Return it as one line."""
        layout = _packed(self.window.layout)
        return json.dumps(
            {
                "window": {**asdict(self.window), "layout": layout},
                "model": None if self.model is None else asdict(self.model),
                "pages": dict(self.pages),
                "sentence": _pair(self.sentence),
                "history": [_pair(sentence) for sentence in self.history[-MOST_SENTENCES:]],
            }
        )

    @classmethod
    def from_text(cls, text: object) -> "SessionState":
        """Read what ``to_text`` gave, as far as it is sound; nothing it holds is an error."""
        try:
            data = json.loads(text) if isinstance(text, str) else {}
        except (ValueError, RecursionError):
            return cls()
        if not isinstance(data, dict):
            return cls()
        history = data.get("history")
        found = [_sentence(pair) for pair in (history if isinstance(history, list) else [])]
        return cls(
            window=_window(data.get("window")),
            model=_model(data.get("model")),
            pages=_pages(data.get("pages")),
            sentence=_sentence(data.get("sentence")) or NO_SENTENCE,
            history=tuple(one for one in found if one is not None)[-MOST_SENTENCES:],
        )


def kept(sentence: Sentence) -> bool:
    """Tell whether a sentence is short enough to be remembered, and can be written."""
    texts = (sentence.text, sentence.pair or "")
    return all(len(text) <= LONGEST and _is_text(text) for text in texts)


def _pair(sentence: Sentence) -> list[str | None]:
    plain = sentence if kept(sentence) else replace(sentence, text="", pair=None)
    return [plain.text, plain.pair]


def _sentence(pair: Any) -> Sentence | None:
    match pair:
        case [str(text), (str() | None) as second] if kept(Sentence(text, second)):
            return Sentence(text, second)
    return None


def _window(data: Any) -> WindowState:
    layout = data.get("layout") if isinstance(data, dict) else None
    return replace(convert_valid(data, WindowState), layout=_bytes(layout))


def _packed(content: bytes) -> str:
    """Return bytes as a text that tells whether it is still what was written.

    Qt ends the program on a layout in which a single byte is another one.
    """
    return f"{binascii.crc32(content):08x} {base64.b64encode(content).decode()}"


def _bytes(text: Any) -> bytes:
    check, _, coded = text.partition(" ") if isinstance(text, str) else ("", "", "")
    try:
        found = base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError):
        return b""
    is_sound = len(found) <= MOST_BYTES and check == f"{binascii.crc32(found):08x}"
    return found if is_sound else b""


def _model(data: Any) -> ModelState | None:
    found = convert_valid(data, ModelState)
    return found if found.name and found.task and _is_text(found.name) else None


def _pages(data: Any) -> dict[str, str]:
    try:
        return convert(data, dict[str, str])
    except ValidationError:
        return {}


def _is_text(text: str) -> bool:
    """Whether it is one that Qt and files take: no half of a pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
