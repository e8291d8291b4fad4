"""What is wished for is kept, whatever the settings hold, and is a command."""

from PySide6.QtCore import QSettings

from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.corpus.eta_estimator import Pace
from bertviewer.ui.corpus.options import SETTING, Wishes, proposed_folder, remember, remembered


def test_wishes_are_kept() -> None:
    wishes = Wishes(("/a/b.txt",), "/a/out", CorpusOptions("column", 4, 99, 5, 6, 7, "x.*", True))
    remember(wishes)
    assert remembered() == wishes


def test_settings_may_hold_anything() -> None:
    usual = Wishes()
    for text in ("", "[", "[]", '{"files": 3, "folder": 4, "choices": 5}', '{"choices": []}'):
        QSettings().setValue(SETTING, text)
        assert remembered() == usual
    odd = (
        '{"choices": {"limit": -1, "shards": "2", "batch_size": true, "column": 4, '
        f'"max_tokens": {2**31}, "batch_tokens": {10**400}}}}}'
    )
    QSettings().setValue(SETTING, odd)
    assert remembered() == usual


def test_the_command_says_what_is_not_usual() -> None:
    source = parse_source("bert-base-uncased", "masked-lm")
    wishes = Wishes(("/a b/c.txt",), "/d/out", CorpusOptions(limit=3, random_weights=True))
    assert wishes.command(source) == (
        "bertviewer corpus bert-base-uncased '/a b/c.txt' -o /d/out --task masked-lm "
        "--limit=3 --random-weights"
    )
    assert " c.txt -o out " in wishes.command(source, are_names=True)
    on_gpu = Wishes(("-x.txt",), "out", CorpusOptions(device="cuda"))
    assert on_gpu.command(source).endswith(" ./-x.txt -o out --task masked-lm --device=cuda")


def test_a_folder_is_called_after_the_first_file() -> None:
    assert proposed_folder(()) == ""
    assert proposed_folder(("/a/lines.txt.gz", "/b/c")) == "/a/lines-corpus"
    assert proposed_folder(("/a/.hidden",)) == "/a/.hidden-corpus"


def test_pace_is_told_once_it_says_something() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    assert not pace.told(100, 1000)
    now = 1.0
    assert not pace.told(150, 1000)
    now = 10.0
    assert pace.told(200, 1000) == "10 sentences per second · 1 min left"
    now = 20.0
    assert pace.told(900, 1000) == "40 sentences per second · 2 s left"
    assert not pace.told(0, 9)  # another run
