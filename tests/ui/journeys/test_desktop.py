"""The main job on a desktop with a window manager: by the mouse alone, and by keys alone."""

import shutil
from pathlib import Path

import pytest

from tests.tools.xvfb import MANAGED
from tests.ui.journeys.person import Person, State, person_before

pytestmark = pytest.mark.skipif(
    not MANAGED or shutil.which("xdotool") is None, reason="needs Xvfb, xdotool and openbox"
)

CODE = """
from tests.ui.journeys.watching import watch
def hook(window, worker):
    watch(window)
sys.argv[1:] = []
sys.exit(app.main())
"""

SENTENCE = "the bank by the river"
TOKENS = 7
NARROW, SCREEN, TITLE = 1000, 1600, 40  # pixels


def rests(state: State) -> bool:
    return bool(state["rests"]) and state["active"] is not None


def ran(state: State) -> bool:
    return rests(state) and state["tokens"] == TOKENS


def nothing_jumped(state: State) -> None:
    assert state["focus_is_seen"], state
    assert state["jumps"] == []


def is_report(file: Path) -> bool:
    return file.read_bytes().startswith(b"%PDF")


def test_by_the_mouse_alone(tmp_path: Path) -> None:
    report = tmp_path / "report.pdf"
    with person_before(CODE, tmp_path) as person:
        person.clicks("model-demo")
        person.waits(lambda s: rests(s) and s["model"] == "demo")
        person.clicks("arrow:encoder.layer.0–5")
        person.clicks("row:encoder.layer.0–5.3")
        person.waits(lambda s: s["selected"] == "encoder.layer.3")
        person.clicks("part:encoder.layer.3.attention.self")
        state = person.waits(lambda s: s["selected"] == "encoder.layer.3.attention.self")
        before = state["closeness"]
        person.does("click", "--repeat", "3", "4")
        person.waits(lambda s: s["closeness"] > before)
        person.clicks("sentenceEdit")
        person.does("type", SENTENCE)
        person.waits(lambda s: s["typed"].get("sentenceEdit") == SENTENCE)
        person.clicks("runButton")
        nothing_jumped(person.waits(ran))
        person.clicks("chip:3")
        person.waits(lambda s: s["token"] == 3)
        person.clicks("tab:Attention")
        person.waits(lambda s: rests(s) and s["shown"]["runViews"] == "Attention")
        person.clicks("keepRun")
        person.waits(lambda s: rests(s) and s["kept"])
        person.clicks("exportButton")
        person.clicks("reportExport")
        person.clicks("fileNameEdit")
        person.does("key", "ctrl+a")
        person.does("type", str(report))
        person.waits(lambda s: s["typed"].get("fileNameEdit") == str(report))
        person.clicks("save")
        nothing_jumped(person.waits(lambda s: rests(s) and s["written"] == [str(report)]))
        person.clicks("reportClose")
        person.waits(lambda s: s["active"] == "MainWindow")
        person.clicks("menuButton")
        person.clicks("action:File")
        person.clicks("action:quit")
    assert is_report(report)


def goes_to(person: Person, control: str) -> None:
    """Reach a control by Tab, as long as that takes."""
    person.presses("Tab", lambda s: s["focus"] == control, most=80)


def test_by_keys_alone(tmp_path: Path) -> None:
    report = tmp_path / "report.pdf"
    with person_before(CODE, tmp_path) as person:
        person.waits(lambda s: rests(s) and s["focus"])
        goes_to(person, "model-demo")
        person.does("key", "Return")
        person.waits(lambda s: rests(s) and s["model"] == "demo" and s["focus"] == "moduleTree")
        person.presses("Down", lambda s: s["selected"] == "encoder")
        person.does("key", "Return")
        person.waits(lambda s: s["shown"]["detailTabs"] == "Map")
        person.does("key", "F6")
        person.waits(lambda s: not s["panes"]["structure"][0] and s["focus_is_seen"])
        person.does("key", "F6")
        person.waits(lambda s: s["panes"]["structure"][0] and s["focus"] == "moduleTree")
        person.does("key", "F7")
        person.waits(lambda s: not s["panes"]["module"][0] and s["focus"] == "moduleTree")
        person.does("key", "F7")
        person.waits(lambda s: s["panes"]["module"][0])
        person.does("key", "ctrl+k")
        person.waits(lambda s: s["focus"] == "paletteEdit")
        person.does("type", "3 attention self")
        person.waits(lambda s: s["typed"].get("paletteEdit") == "3 attention self")
        person.does("key", "Return")
        person.waits(lambda s: str(s["selected"]).startswith("encoder.layer.3.attention.self"))
        person.does("key", "ctrl+l")
        person.waits(lambda s: s["focus"] == "sentenceEdit")
        person.does("type", SENTENCE)
        person.waits(lambda s: s["typed"].get("sentenceEdit") == SENTENCE)
        person.does("key", "Return")
        state = person.waits(ran)
        assert state["focus"] == "sentenceEdit"
        nothing_jumped(state)
        goes_to(person, "tokenChips")
        person.presses("Right", lambda s: s["token"] == TOKENS - 2)
        person.presses("Tab", lambda s: s["focus"] == "runViews")
        person.presses("Right", lambda s: s["shown"]["runViews"] == "Attention")
        person.waits(rests)
        person.does("key", "ctrl+shift+k")
        person.waits(lambda s: rests(s) and s["kept"])
        person.does("key", "ctrl+e")
        person.waits(lambda s: s["focus"] == "reportChapters")
        goes_to(person, "reportExport")
        person.does("key", "Return")
        person.waits(lambda s: s["focus"] == "fileNameEdit")
        person.does("key", "ctrl+a")
        person.does("type", str(report))
        person.waits(lambda s: s["typed"].get("fileNameEdit") == str(report))
        person.does("key", "Return")
        nothing_jumped(person.waits(lambda s: rests(s) and s["written"] == [str(report)]))
        person.does("key", "Escape")
        # Between two windows the desktop gives keys to neither.
        person.waits(lambda s: "reportChapters" not in s["places"] and s["active"] == "MainWindow")
        person.does("key", "ctrl+q")
    assert is_report(report)


def sentence_is_in_sight(state: State) -> bool:
    """Whether the sentence and its button are within the window."""
    left, top, width, height = state["window"][:4]
    places = [state["places"].get(name, [-1, -1]) for name in ("sentenceEdit", "runChoices")]
    return all(left < x < left + width and top < y < top + height for x, y in places)


def does_by_search(person: Person, command: str) -> None:
    """Find a command and have it done."""
    person.does("key", "ctrl+k")
    person.waits(lambda s: s["focus"] == "paletteEdit")
    person.does("type", command)
    person.waits(lambda s: s["typed"].get("paletteEdit") == command)
    person.does("key", "Return")


def resizes(person: Person, window: str, width: int, height: int) -> State:
    """Give a window a size, in which the sentence and its button are in sight."""
    person.does("windowsize", window, str(width), str(height))
    return person.waits(lambda s: s["window"][2:4] == [width, height] and sentence_is_in_sight(s))


def doubly_clicks_title(person: Person, state: State) -> None:
    """Maximise a window, or make it as large as before, by the desktop's title above it."""
    left, top, width = state["window"][:3]
    place = str(left + width // 2), str(top - 8)
    person.does("mousemove", *place, "click", "--repeat", "2", "--delay", "50", "1")


def test_what_a_window_manager_does(tmp_path: Path) -> None:
    with person_before(CODE.replace("= []", "= ['demo']"), tmp_path) as person:
        person.waits(lambda s: rests(s) and s["model"] == "demo" and s["focus"])
        window = person.finds("demo — bertviewer")
        # Narrower than it can be, and wider than the screen is.
        person.does("windowsize", window, "100", "100")
        person.waits(lambda s: s["window"][2] < NARROW and sentence_is_in_sight(s))
        for width, height in ((1024, 700), (2400, 900), (1300, 800)):
            state = resizes(person, window, width, height)
        doubly_clicks_title(person, state)
        # At the top of the screen, with the whole of its width.
        state = person.waits(
            lambda s: s["window"][4] and s["window"][1] < TITLE and s["window"][2] == SCREEN
        )
        assert sentence_is_in_sight(state)
        doubly_clicks_title(person, state)
        person.waits(lambda s: not s["window"][4] and s["window"][2] == 1300)
        # While the window was narrow its structure was not there, and could have no keys.
        person.clicks("row:encoder")
        person.waits(lambda s: s["focus"] == "moduleTree")
        does_by_search(person, "open structure in its own window")
        # Its window is there and has the keys, as the pane had.
        torn_off = person.waits(lambda s: s["active"] == "structurePane" and s["focus_is_seen"])
        assert torn_off["focus"] == "moduleTree"
        x, y, width, _ = torn_off["panes"]["structure"][2:]
        # By its title, beside the caption, onto which nothing else is put.
        person.does("mousemove", str(x + width // 3), str(y + 16), "mousedown", "1")
        for step in (20, 60, 140):
            person.does("mousemove", str(x + width // 3 + step), str(y + 16 + step))
        person.does("mouseup", "1")
        person.waits(lambda s: s["panes"]["structure"][2:4] == [x + 140, y + 140])
        person.clicks("structureClose")
        person.waits(lambda s: not s["panes"]["structure"][0] and s["active"] == "MainWindow")
        person.does("key", "F6")
        person.waits(lambda s: s["panes"]["structure"][0])
        does_by_search(person, "reset layout")
        before = person.waits(lambda s: not s["panes"]["structure"][1])
        person.does("key", "ctrl+q")
    # The next time it is as it was left.
    with person_before(CODE, tmp_path) as person:
        state = person.waits(lambda s: rests(s) and s["model"] == "demo")
        assert state["window"][2:4] == before["window"][2:4]
        person.does("key", "ctrl+q")
