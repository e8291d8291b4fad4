"""The main job on a desktop with a window manager: by the mouse alone, and by keys alone."""

import shutil
from pathlib import Path

import pytest

from tests.ui.person import Person, State, person_before
from tests.xvfb import MANAGED

pytestmark = pytest.mark.skipif(
    not MANAGED or shutil.which("xdotool") is None, reason="needs Xvfb, xdotool and openbox"
)

CODE = """
from tests.ui.watching import watch
def hook(window, worker):
    watch(window)
sys.argv[1:] = []
sys.exit(app.main())
"""

SENTENCE = "the bank by the river"
TOKENS = 7


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
        person.clicks("fileNameEdit")
        person.does("key", "ctrl+a")
        person.does("type", str(report))
        person.waits(lambda s: s["typed"].get("fileNameEdit") == str(report))
        person.clicks("save")
        nothing_jumped(person.waits(lambda s: rests(s) and s["written"] == [str(report)]))
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
        person.waits(lambda s: s["focus"] == "fileNameEdit")
        person.does("key", "ctrl+a")
        person.does("type", str(report))
        person.waits(lambda s: s["typed"].get("fileNameEdit") == str(report))
        person.does("key", "Return")
        nothing_jumped(person.waits(lambda s: rests(s) and s["written"] == [str(report)]))
        person.does("key", "ctrl+q")
    assert is_report(report)
