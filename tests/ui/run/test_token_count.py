"""Token count of the typed sentence: counted in its own worker, and what the label says."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization.sentence import TokenCount
from bertviewer.core.util.progress import Progress
from bertviewer.ui.run.token_count import CountingTokenizer, TokenCounter, TokenCountLabel
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from tests.core.opened import plain
from tests.tools.patient_bot import PATIENCE
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import find

Count = Callable[..., TokenCount | None]


@pytest.fixture
def counter(workspace: Workspace) -> Iterator[TokenCounter]:
    counter = TokenCounter(workspace)
    yield counter
    assert counter.stop(PATIENCE / 1000)


@pytest.fixture
def count(counter: TokenCounter, qtbot: QtBot) -> Count:
    """Return a function that returns the count of a sentence."""

    def count(text: str, pair: str | None = None) -> TokenCount | None:
        with qtbot.waitSignal(counter.counted) as counted:
            counter.set_sentence(Sentence(text, pair))
        assert counted.args is not None
        found = counted.args[0]
        assert found is None or isinstance(found, TokenCount)
        return found

    return count


def open_folder(workspace: Workspace, folder: Path, **config: Any) -> None:
    """Show a model with the tokenizer of a folder, or with a configuration that is written."""
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    from bertviewer.core.loading.opening import open_model

    source = parse_source(str(folder))
    show_architecture(workspace, open_model(source).architecture, str(folder))


def workers() -> int:
    return sum(thread.name == "bertviewer-worker" for thread in threading.enumerate())


def is_waiting(counter: TokenCounter) -> bool:
    """Return whether something will be counted when the user stops typing."""
    return find(counter, QTimer).isActive()


def test_counts_of_a_model(workspace: Workspace, count: Count, tiny_bert_folder: Path) -> None:
    open_folder(workspace, tiny_bert_folder)
    found = [count("the cats"), count("the cats", "a mat"), count("the cats 😀 你 😀", "a mat")]
    assert [each and (each.tokens, each.limit) for each in found] == [(5, 64), (8, 64), (11, 64)]
    assert found[2] is not None
    assert found[2].unknown == ("😀", "你", "😀")
    assert count("") is None
    assert count("cat", "x" * 200_001) is None  # the error is left to the run


def test_without_a_model_nothing_is_counted(workspace: Workspace, counter: TokenCounter) -> None:
    before = workers()
    counter.set_sentence(Sentence("the cat"))
    assert not is_waiting(counter)
    assert workers() == before


def test_a_sentence_is_counted_again_for_another_model(  # noqa: PLR0917
    workspace: Workspace, counter: TokenCounter, count: Count, tiny_bert_folder: Path,
    tmp_path: Path, qtbot: QtBot,
) -> None:  # fmt: skip
    open_folder(workspace, tiny_bert_folder)
    first = count("12212121")
    counts: list[TokenCount | None] = []
    counter.counted.connect(counts.append)
    config = {"vocab_size": 99, "n_layer": 1, "n_positions": 32}
    open_folder(workspace, tmp_path, model_type="gpt2", **config)
    qtbot.waitUntil(lambda: len(counts) == 2)
    found = [each and (each.tokens, each.limit) for each in (first, *counts)]
    assert found == [(10, 64), None, (1, 32)]


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "vit", "num_hidden_layers": 1},
        {"model_type": "wav2vec2", "num_hidden_layers": 1, "vocab_size": 32},
    ],
)
def test_models_that_read_no_text_have_no_count(
    config: dict[str, Any], workspace: Workspace, count: Count, tmp_path: Path
) -> None:
    open_folder(workspace, tmp_path, **config)
    assert count("the cat") is None


def test_a_model_without_a_limit(workspace: Workspace, count: Count, tmp_path: Path) -> None:
    sizes = {"vocab_size": 99, "num_layers": 1, "d_model": 16, "d_ff": 16, "num_heads": 2}
    open_folder(workspace, tmp_path, model_type="t5", eos_token_id=None, **sizes)
    found = count("the cat " * 700)
    assert found is not None
    assert (found.tokens, found.limit, found.excess) == (1400, None, 0)


def test_the_count_of_an_earlier_text_is_dropped(
    workspace: Workspace, counter: TokenCounter, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def slow(_self: CountingTokenizer, sentence: Sentence, _progress: Progress) -> TokenCount:
        if sentence.text == "old":
            begun.set()
            goes_on.wait(PATIENCE / 1000)
        return TokenCount(len(sentence.text), 512, ())

    monkeypatch.setattr(CountingTokenizer, "count", slow)
    show_architecture(workspace, plain("bert-base-uncased"))
    counts: list[TokenCount | None] = []
    counter.counted.connect(counts.append)
    counter.set_sentence(Sentence("old"))
    qtbot.waitUntil(begun.is_set)
    counter.set_sentence(Sentence("newer"))
    goes_on.set()
    qtbot.waitUntil(lambda: bool(counts))
    assert [found and found.tokens for found in counts] == [5]


def test_an_internal_error_is_reported_once(
    workspace: Workspace, counter: TokenCounter, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: CountingTokenizer, _sentence: Sentence, _progress: Progress) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(CountingTokenizer, "count", broken)
    show_architecture(workspace, plain("bert-base-uncased"))
    errors: list[str] = []
    workspace.jobs.errored.connect(lambda error: errors.append(str(error)))
    counter.set_sentence(Sentence("one"))
    qtbot.waitUntil(lambda: bool(errors))
    counter.set_sentence(Sentence("two"))
    assert not is_waiting(counter)
    assert errors == ["broken on purpose"]


def test_a_stopped_counter_counts_nothing(
    workspace: Workspace, counter: TokenCounter, count: Count, tiny_bert_folder: Path
) -> None:
    open_folder(workspace, tiny_bert_folder)
    before = workers()
    assert count("the cat") is not None
    assert workers() == before + 1
    assert counter.stop(PATIENCE / 1000)
    QApplication.processEvents()
    counter.set_sentence(Sentence("the cat sat"))
    assert not is_waiting(counter)
    assert workers() == before


@pytest.fixture
def label(qtbot: QtBot) -> TokenCountLabel:
    label = TokenCountLabel()
    qtbot.addWidget(label)
    label.show()
    return label


@pytest.mark.parametrize(
    ("count", "text", "is_warning", "tip"),
    [
        (TokenCount(9, 512, ()), "9 of 512 tokens", False, "accepts at most 512 tokens"),
        (
            TokenCount(9, 512, (), is_one_of_two=True),
            "9 of 512 tokens",
            False,
            "Encoder and decoder each read one text; the longer one counts.",
        ),
        (
            TokenCount(102, 64, ("😀", "你", "😀")),
            "102 of 64 tokens · 38 too many · 3 unknown",
            True,
            "Not in the vocabulary: 😀  你",
        ),
        (TokenCount(1, None), "1 token", False, "Special tokens are included."),
        (TokenCount(500, None, trained=512), "500 tokens", False, ""),
        (
            TokenCount(1600, None, trained=512),
            "1,600 tokens · trained on 512",
            True,
            "runs, but was trained on shorter texts",
        ),
        (TokenCount(60, 512, tuple(f"w{n}" for n in range(50))), None, False, "w19 …"),
        (TokenCount(3, None, ("<b>" + "x" * 10_000,)), None, False, "&lt;b&gt;x"),
    ],
)
def test_the_label_of_a_count(
    count: TokenCount, text: str | None, is_warning: bool, tip: str, label: TokenCountLabel
) -> None:
    label.show_count(count)
    shown = find(label, QLabel, "tokenCount")
    assert text is None or shown.text() == text
    role = WARNING if is_warning else QPalette.ColorRole.PlaceholderText
    assert shown.foregroundRole() == role
    assert tip in shown.toolTip()
    assert len(shown.toolTip()) < 400
    assert find(label, QPushButton, "cutButton").isVisible() == (count.excess > 0)
