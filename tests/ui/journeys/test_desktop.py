"""Journeys on a desktop with a window manager: by mouse alone, by keyboard alone, and by frames."""

import shutil
from pathlib import Path

import pytest

from tests.tools.xvfb import MANAGED
from tests.ui.journeys.desktop import Desktop, State, desktop

pytestmark = pytest.mark.skipif(
    not MANAGED or shutil.which("xdotool") is None, reason="needs Xvfb, xdotool and openbox"
)

SENTENCE = "the bank by the river"
TOKENS = 7
NARROW, SCREEN, TITLE = 1000, 1600, 40  # pixels


def is_idle(state: State) -> bool:
    return bool(state["idle"]) and state["active"] is not None


def has_run(state: State) -> bool:
    return is_idle(state) and state["tokens"] == TOKENS


def check_focus(state: State) -> None:
    """Fail if the focus is hidden, or has moved by itself."""
    assert state["focus_is_visible"], state
    assert state["jumps"] == []


def is_pdf(file: Path) -> bool:
    return file.read_bytes().startswith(b"%PDF")


def test_by_mouse(tmp_path: Path) -> None:
    report = tmp_path / "report.pdf"
    with desktop(tmp_path) as user:
        user.click("model-demo")
        user.wait(lambda s: is_idle(s) and s["model"] == "demo")
        user.click("arrow:encoder.layer.0–5")
        user.click("row:encoder.layer.0–5.3")
        user.wait(lambda s: s["selected"] == "encoder.layer.3")
        user.click("part:encoder.layer.3.attention.self")
        zoom = user.wait(lambda s: s["selected"] == "encoder.layer.3.attention.self")["zoom"]
        user.xdotool("click", "--repeat", "3", "4")  # the wheel
        user.wait(lambda s: s["zoom"] > zoom)
        user.click("sentenceEdit")
        user.type("sentenceEdit", SENTENCE)
        user.click("runButton")
        check_focus(user.wait(has_run))
        user.click("chip:3")
        user.wait(lambda s: s["token"] == 3)
        user.click("tab:Attention")
        user.wait(lambda s: is_idle(s) and s["shown"]["runViews"] == "Attention")
        user.click("keepRun")
        user.wait(lambda s: is_idle(s) and s["has_baseline"])
        user.click("exportButton")
        user.click("reportExport")
        user.click("fileNameEdit")
        user.type("fileNameEdit", str(report))
        user.click("save")
        check_focus(user.wait(lambda s: is_idle(s) and s["written"] == [str(report)]))
        user.click("reportClose")
        user.wait(lambda s: s["active"] == "MainWindow")
        user.click("menuButton")
        user.click("action:File")
        user.click("action:quit")
    assert is_pdf(report)


def test_by_keyboard(tmp_path: Path) -> None:
    modules, report = tmp_path / "modules.csv", tmp_path / "report.pdf"
    with desktop(tmp_path) as user:
        user.wait(lambda s: is_idle(s) and s["focus"])
        user.tab_to("model-demo")
        user.press("Return")
        user.wait(lambda s: is_idle(s) and s["model"] == "demo" and s["focus"] == "moduleTree")
        user.press_until("Down", lambda s: s["selected"] == "encoder")
        user.press("Return")
        user.wait(lambda s: s["shown"]["detailTabs"] == "Map")
        for key, pane in (("F6", "structure"), ("F7", "module")):
            user.press(key)
            user.wait(lambda s, p=pane: not s["panes"][p][0] and s["focus_is_visible"])  # type: ignore[misc]
            user.press(key)
            user.wait(lambda s, p=pane: s["panes"][p][0] and s["focus"] == "moduleTree")  # type: ignore[misc]
        user.press("alt+f", "v")  # exports the modules
        user.wait(lambda s: s["focus"] == "fileNameEdit")
        user.type("fileNameEdit", str(modules))
        user.press("Return")
        user.wait(lambda s: is_idle(s) and s["written"] == [str(modules)])
        user.press("ctrl+k")
        user.wait(lambda s: s["focus"] == "paletteEdit")
        user.type("paletteEdit", "3 attention self")
        user.press("Return")
        user.wait(lambda s: str(s["selected"]).startswith("encoder.layer.3.attention.self"))
        user.press("ctrl+l")
        user.wait(lambda s: s["focus"] == "sentenceEdit")
        user.type("sentenceEdit", SENTENCE)
        user.press("Return")
        state = user.wait(has_run)
        assert state["focus"] == "sentenceEdit"
        check_focus(state)
        user.tab_to("tokenChips")
        user.press_until("Right", lambda s: s["token"] == TOKENS - 2)
        user.press_until("Tab", lambda s: s["focus"] == "runViews")
        user.press_until("Right", lambda s: s["shown"]["runViews"] == "Attention")
        user.wait(is_idle)
        user.press("ctrl+shift+k")
        user.wait(lambda s: is_idle(s) and s["has_baseline"])
        user.press("ctrl+e")
        user.wait(lambda s: s["focus"] == "reportChapters")
        user.tab_to("reportExport")
        user.press("Return")
        user.wait(lambda s: s["focus"] == "fileNameEdit")
        user.type("fileNameEdit", str(report))
        user.press("Return")
        check_focus(user.wait(lambda s: is_idle(s) and s["written"][1:] == [str(report)]))
        user.press("Escape")
        # Between two windows the desktop gives the focus to neither.
        user.wait(lambda s: "reportChapters" not in s["places"] and s["active"] == "MainWindow")
        user.press("ctrl+q")
    assert is_pdf(report)
    header, *rows = modules.read_text().splitlines()
    assert header.startswith("path,class,depth,parameters")
    assert any(row.startswith("encoder.layer.5.attention.self.query,Linear,") for row in rows)


def is_sentence_visible(state: State) -> bool:
    """Return whether the sentence and its button are inside the window."""
    left, top, width, height = state["window"][:4]
    places = [state["places"].get(name, [-1, -1]) for name in ("sentenceEdit", "runChoices")]
    return all(left < x < left + width and top < y < top + height for x, y in places)


def search(user: Desktop, command: str) -> None:
    """Find a command with Ctrl+K and run it."""
    user.press("ctrl+k")
    user.wait(lambda s: s["focus"] == "paletteEdit")
    user.type("paletteEdit", command)
    user.press("Return")


def double_click_title(user: Desktop, state: State) -> None:
    """Double-click the title bar that the window manager draws: maximize or restore."""
    left, top, width = state["window"][:3]
    place = str(left + width // 2), str(top - 8)
    user.xdotool("mousemove", *place, "click", "--repeat", "2", "--delay", "50", "1")


def test_by_window_manager(tmp_path: Path) -> None:
    arguments = "demo", "--sentence", "a test", "--pair", "another"
    with desktop(tmp_path, *arguments) as user:
        user.wait(lambda s: is_idle(s) and s["tokens"] == 6 and s["focus"])
        title = "^demo — bertviewer$"
        window = user.xdotool("search", "--onlyvisible", "--name", title).split()[0]
        # Narrower than it can be, and wider than the screen.
        user.xdotool("windowsize", window, "100", "100")
        user.wait(lambda s: s["window"][2] < NARROW and is_sentence_visible(s))
        for size in ([1024, 700], [2400, 900], [1300, 800]):
            user.xdotool("windowsize", window, *map(str, size))
            state = user.wait(
                lambda s, size=size: s["window"][2:4] == size and is_sentence_visible(s)  # type: ignore[misc]
            )
        double_click_title(user, state)
        state = user.wait(
            lambda s: s["window"][4] and s["window"][1] < TITLE and s["window"][2] == SCREEN
        )
        assert is_sentence_visible(state)
        double_click_title(user, state)
        user.wait(lambda s: not s["window"][4] and s["window"][2] == 1300)
        # In the narrow window the tree was hidden, and lost the focus.
        user.click("row:encoder")
        user.wait(lambda s: s["focus"] == "moduleTree")
        search(user, "open structure in its own window")
        undocked = user.wait(lambda s: s["active"] == "structurePane" and s["focus_is_visible"])
        assert undocked["focus"] == "moduleTree"
        # It is moved by its title, where there is neither the caption nor a button.
        x, y, width, _ = undocked["panes"]["structure"][2:]
        user.xdotool("mousemove", str(x + width // 3), str(y + 16), "mousedown", "1")
        for step in (20, 60, 140):
            user.xdotool("mousemove", str(x + width // 3 + step), str(y + 16 + step))
        user.xdotool("mouseup", "1")
        user.wait(lambda s: s["panes"]["structure"][2:4] == [x + 140, y + 140])
        user.click("structureClose")
        user.wait(lambda s: not s["panes"]["structure"][0] and s["active"] == "MainWindow")
        user.press("F6")
        user.wait(lambda s: s["panes"]["structure"][0])
        search(user, "reset layout")
        before = user.wait(lambda s: not s["panes"]["structure"][1])
        user.press("ctrl+q")
    with desktop(tmp_path) as user:
        state = user.wait(lambda s: is_idle(s) and s["model"] == "demo")
        assert state["window"][2:4] == before["window"][2:4]
        user.press("ctrl+q")
