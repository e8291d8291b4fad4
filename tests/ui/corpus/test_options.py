"""Stored options of the corpus dialog, the command for them, and the remaining time."""

from PySide6.QtCore import QSettings

from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.corpus.dialog import EtaEstimator
from bertviewer.ui.corpus.options import (
    SETTING,
    CorpusTask,
    load_task,
    proposed_folder,
    store_task,
)


def test_the_task_is_stored() -> None:
    task = CorpusTask(("/a/b.txt",), "/a/out", CorpusOptions("column", 4, 99, 5, 6, 7, "x.*", True))
    store_task(task)
    assert load_task() == task


def test_settings_may_hold_anything() -> None:
    default = CorpusTask()
    for text in ("", "[", "[]", '{"files": 3, "folder": 4, "choices": 5}', '{"choices": []}'):
        QSettings().setValue(SETTING, text)
        assert load_task() == default
    odd = (
        '{"choices": {"limit": -1, "shards": "2", "batch_size": true, "column": 4, '
        f'"max_tokens": {2**31}, "batch_tokens": {10**400}}}}}'
    )
    QSettings().setValue(SETTING, odd)
    assert load_task() == default


def test_the_command_has_options_that_are_not_the_default() -> None:
    source = parse_source("bert-base-uncased", "masked-lm")
    task = CorpusTask(("/a b/c.txt",), "/d/out", CorpusOptions(limit=3, random_weights=True))
    assert task.command(source) == (
        "bertviewer corpus bert-base-uncased '/a b/c.txt' -o /d/out --task masked-lm "
        "--limit=3 --random-weights"
    )
    assert " c.txt -o out " in task.command(source, is_portable=True)
    on_gpu = CorpusTask(("-x.txt",), "out", CorpusOptions(device="cuda"))
    assert on_gpu.command(source).endswith(" ./-x.txt -o out --task masked-lm --device=cuda")


def test_a_folder_is_called_after_the_first_file() -> None:
    assert proposed_folder(()) == ""
    assert proposed_folder(("/a/lines.txt.gz", "/b/c")) == "/a/lines-corpus"
    assert proposed_folder(("/a/.hidden",)) == "/a/.hidden-corpus"


def test_the_rate_is_shown_after_two_seconds() -> None:
    now = 0.0
    eta = EtaEstimator(lambda: now)
    assert not eta.update(100, 1000)
    now = 1.0
    assert not eta.update(150, 1000)
    now = 10.0
    assert eta.update(200, 1000) == "10 sentences per second · 1 min left"
    now = 20.0
    assert eta.update(900, 1000) == "40 sentences per second · 2 s left"
    assert not eta.update(0, 9)  # another run
