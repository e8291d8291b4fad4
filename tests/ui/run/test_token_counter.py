"""Tokens are counted while a sentence is typed, beside everything else that goes on."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization.sentence import TokenCount
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.token_count import CountingTokenizer, TokenCounter, TokenCountLabel
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.theme.appearance import WARNING
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, has_error, is_drawn, last_run, shown_error

Open = Callable[[Path], MainWindow]


@pytest.fixture
def opened(window: MainWindow, worker: Worker, qtbot: QtBot) -> Iterator[Open]:
    """Give a function that opens a model in the window, whose formulas nobody waits for."""

    def opened(path: Path) -> MainWindow:
        workspace = window.workspace
        before = workspace.source
        window.open_source(parse_source(str(path)))
        qtbot.waitUntil(lambda: workspace.source is not before, timeout=OPEN_TIMEOUT)
        return window

    yield opened
    assert worker.stop(OPEN_TIMEOUT / 1000)
    QApplication.processEvents()


def config_file(folder: Path, **config: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path


def label(window: MainWindow) -> QLabel:
    return find(window, QLabel, "tokenCount")


def cut_button(window: MainWindow) -> QPushButton:
    return find(window, QPushButton, "cutButton")


def workers() -> int:
    return sum(thread.name == "bertviewer-worker" for thread in threading.enumerate())


def is_resting(window: MainWindow) -> bool:
    """Whether the keyboard rests, after which something is counted."""
    return find(find(window, TokenCounter), QTimer).isActive()


def wait_for(text: str, window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: label(window).text() == text, timeout=OPEN_TIMEOUT)


def test_the_count_follows_the_keys(opened: Open, tiny_bert_folder: Path, qtbot: QtBot) -> None:
    window = opened(tiny_bert_folder)
    edit, pair = (find(window, QLineEdit, name) for name in ("sentenceEdit", "pairEdit"))
    qtbot.keyClicks(edit, "the cats")
    wait_for("5 of 64 tokens", window, qtbot)
    qtbot.keyClicks(pair, "a mat")
    wait_for("8 of 64 tokens", window, qtbot)
    assert label(window).foregroundRole() == QPalette.ColorRole.PlaceholderText
    assert not cut_button(window).isVisible()
    edit.insert(" 😀 你 😀")
    wait_for("11 of 64 tokens · 3 unknown", window, qtbot)
    assert label(window).toolTip().endswith("Not in the vocabulary: 😀  你")
    edit.clear()
    # At once: nothing has to be counted.
    assert label(window).text() == ""


def test_too_long_a_text_is_marked_and_can_be_cut(
    opened: Open, tiny_bert_folder: Path, worker: Worker, qtbot: QtBot
) -> None:
    window = opened(tiny_bert_folder)
    window.set_sentence("cat " * 100, None)
    wait_for("102 of 64 tokens · 38 too many", window, qtbot)
    assert label(window).foregroundRole() == WARNING
    button = cut_button(window)
    assert button.text() == "Truncate"
    qtbot.waitUntil(lambda: not worker.busy and button.isEnabled(), timeout=OPEN_TIMEOUT)
    button.click()
    assert not button.isEnabled()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    run = last_run(window)
    assert len(run.tokens) == 64
    assert run.sentence == Sentence("cat " * 100, cut=True)
    assert "truncated to 64 tokens" in find(window, QLabel, "runWarning").text()
    # Run still means all of it, and says why that cannot be.
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    find(window, QPushButton, "runButton").click()
    qtbot.waitUntil(lambda: has_error(window))
    box = shown_error(window)
    assert "it has 102 tokens, and the model takes at most 64" in box.text()
    box.close()


def test_it_waits_for_no_other_work(
    opened: Open, tiny_bert_folder: Path, worker: Worker, qtbot: QtBot
) -> None:
    window = opened(tiny_bert_folder)
    goes_on = threading.Event()
    worker.start(lambda _: goes_on.wait(OPEN_TIMEOUT / 1000), lambda _: None, lambda _: None)
    window.set_sentence("the cat", None)
    wait_for("4 of 64 tokens", window, qtbot)
    assert worker.busy
    goes_on.set()


def test_nothing_starts_before_a_model_is_open(window: MainWindow) -> None:
    window.set_sentence("the cat", None)
    assert not is_resting(window)
    assert workers() == 1
    assert label(window).text() == ""


def test_a_text_from_before_is_counted_with_the_new_model(
    opened: Open, tiny_bert_folder: Path, tmp_path: Path, qtbot: QtBot
) -> None:
    window = opened(tiny_bert_folder)
    window.set_sentence("12212121", None)
    wait_for("10 of 64 tokens", window, qtbot)
    path = config_file(tmp_path, model_type="gpt2", vocab_size=99, n_layer=1, n_positions=32)
    opened(path)
    wait_for("1 of 32 tokens", window, qtbot)


def test_a_count_for_an_outdated_text_is_dropped(
    opened: Open, tiny_bert_folder: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened(tiny_bert_folder)
    begun, goes_on = threading.Event(), threading.Event()
    count = CountingTokenizer.count

    def slow(self: CountingTokenizer, sentence: Sentence, progress: Progress) -> TokenCount | None:
        found = count(self, sentence, progress)
        if sentence.text == "old":
            begun.set()
            goes_on.wait(OPEN_TIMEOUT / 1000)
        return found

    monkeypatch.setattr(CountingTokenizer, "count", slow)
    shown: list[TokenCount | None] = []
    find(window, TokenCounter).counted.connect(shown.append)
    edit = find(window, QLineEdit, "sentenceEdit")
    edit.setText("old")
    qtbot.waitUntil(begun.is_set, timeout=OPEN_TIMEOUT)
    edit.setText("new cat")
    goes_on.set()
    # The old one's end comes first.
    qtbot.waitUntil(lambda: bool(shown), timeout=OPEN_TIMEOUT)
    assert [found and found.tokens for found in shown] == [6]


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "vit", "num_hidden_layers": 1},
        {"model_type": "wav2vec2", "num_hidden_layers": 1, "vocab_size": 32},
    ],
)
def test_models_that_read_no_text_say_nothing(
    config: dict[str, Any], opened: Open, tmp_path: Path, qtbot: QtBot
) -> None:
    window = opened(config_file(tmp_path, **config))
    with qtbot.waitSignal(find(window, TokenCounter).counted) as found:
        window.set_sentence("the cat", None)
    assert found.args == [None]
    assert workers() == 2
    assert label(window).text() == ""
    assert not has_error(window)


def test_without_a_limit_only_the_count_is_shown(
    opened: Open, tmp_path: Path, qtbot: QtBot
) -> None:
    sizes = {"vocab_size": 99, "num_layers": 1, "d_model": 16, "d_ff": 16, "num_heads": 2}
    path = config_file(tmp_path, model_type="t5", eos_token_id=None, **sizes)
    window = opened(path)
    window.set_sentence("the", None)
    wait_for("1 token", window, qtbot)
    window.set_sentence("the cat " * 700, None)
    wait_for("1,400 tokens", window, qtbot)
    assert not cut_button(window).isVisible()


def test_bad_texts_are_not_complained_about_while_typing(
    opened: Open, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    window = opened(tiny_bert_folder)
    window.set_sentence("cat", None)
    assert is_resting(window)
    wait_for("3 of 64 tokens", window, qtbot)
    find(window, QLineEdit, "pairEdit").setText("x" * 200_001)
    wait_for("", window, qtbot)
    assert not has_error(window)


def test_an_error_of_ours_is_told_once(
    opened: Open, tiny_bert_folder: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened(tiny_bert_folder)
    window.workspace.jobs.errored.disconnect()
    errors: list[BaseException] = []
    window.workspace.jobs.errored.connect(errors.append)

    def broken(_self: CountingTokenizer, _sentence: Sentence, _progress: Progress) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(CountingTokenizer, "count", broken)
    window.set_sentence("one", None)
    qtbot.waitUntil(lambda: bool(errors))
    window.set_sentence("two", None)
    assert not is_resting(window)
    assert [str(error) for error in errors] == ["broken on purpose"]


def test_closing_the_window_ends_the_counting(
    opened: Open, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    window = opened(tiny_bert_folder)
    window.set_sentence("the cat", None)
    wait_for("4 of 64 tokens", window, qtbot)
    assert workers() == 2
    window.close()
    assert window.run_area.bar.stop(OPEN_TIMEOUT / 1000)
    assert workers() == 1
    # What is typed into a closed window starts nothing.
    window.set_sentence("the cat sat", None)
    assert not is_resting(window)
    assert workers() == 1


def test_what_is_counted_is_said(qtbot: QtBot) -> None:
    view = TokenCountLabel()
    qtbot.addWidget(view)

    def tip(count: TokenCount) -> str:
        view.show_count(count)
        return find(view, QLabel, "tokenCount").toolTip()

    assert "accepts at most 512 tokens" in tip(TokenCount(9, 512, ()))
    assert "longer" not in tip(TokenCount(9, 512, ()))
    assert "Encoder and decoder" in tip(TokenCount(9, 512, (), is_one_of_two=True))


def test_many_unknown_words_are_named_in_part(qtbot: QtBot) -> None:
    view = TokenCountLabel()
    qtbot.addWidget(view)
    view.show_count(TokenCount(60, 512, tuple(f"w{number}" for number in range(50))))
    tip = find(view, QLabel, "tokenCount").toolTip()
    assert tip.endswith("w19 …")
    view.show_count(TokenCount(3, None, ("<b>" + "x" * 10_000,)))
    tip = find(view, QLabel, "tokenCount").toolTip()
    assert "&lt;b&gt;x" in tip
    assert len(tip) < 200


def test_a_text_that_is_one_of_two_than_in_training_is_marked(qtbot: QtBot) -> None:
    view = TokenCountLabel()
    qtbot.addWidget(view)
    label = find(view, QLabel, "tokenCount")
    view.show_count(TokenCount(600, None, trained=512))
    assert label.text() == "600 tokens · trained on 512"
    assert label.foregroundRole() == WARNING
    assert "runs, but was trained on shorter texts" in label.toolTip()
    view.show_count(TokenCount(500, None, trained=512))
    assert label.text() == "500 tokens"
    assert label.foregroundRole() != WARNING
