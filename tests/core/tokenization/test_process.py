"""The process that reads tokenizers: what it survives, and what its death costs."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bertviewer.app import ERROR
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.demo import demo_folder
from bertviewer.core.tokenization import TOO_MUCH, process
from bertviewer.core.tokenization.files import SETTINGS, TOKENIZER
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.process import tokenizer_process
from bertviewer.core.util import child_process
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import no_progress

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")

SOUND: dict[str, Any] = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"},
}
GROWING = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
"""A text that holds an "a" becomes 100 times as long."""
ENDLESS = {"type": "Sequence", "normalizers": [GROWING] * 8}
KEEPING = {"type": "Replace", "pattern": {"String": "a"}, "content": "a"}
SLOW = {"type": "Sequence", "normalizers": [KEEPING] * 20_000}
"""A hundred thousand letters are gone over for minutes."""


@pytest.fixture
def own_process() -> Iterator[None]:
    """Give the test a process of its own, so that it finds none with other limits."""
    tokenizer_process().stop()
    yield
    tokenizer_process().stop()


def write(folder: Path, **parts: Any) -> Path:
    (folder / TOKENIZER).write_text(json.dumps({**SOUND, **parts}))
    (folder / SETTINGS).write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return folder


def child_number() -> int:
    """Return the number of the process that the system knows the child by."""
    with tokenizer_process().turn(no_progress) as child:
        return child.process.pid


def test_what_died_is_started_again_and_goes_on(tmp_path: Path) -> None:
    tokenizer = ModelTokenizer(write(tmp_path))
    before = tokenizer.tokenize(Sentence("a b"))
    number = child_number()
    os.kill(number, signal.SIGKILL)
    os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
    assert tokenizer.tokenize(Sentence("a b")) == before
    assert child_number() != number


def test_a_crash_is_told_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_process: None
) -> None:
    code = "import sys; print('ready', flush=True); input(); sys.exit('a crash')"
    monkeypatch.setattr(child_process, "command", lambda *_: [sys.executable, "-c", code])
    with pytest.raises(UserError, match="the process that read it crashed; details are in") as told:
        ModelTokenizer(write(tmp_path))
    assert str(told.value).startswith(f"{tmp_path}: the tokenizer cannot be read: ")
    assert "a crash" in Path(str(told.value).rpartition(" ")[2]).read_text()


@linux
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"normalizer": ENDLESS}, "a"),  # 10^16 letters
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////fw=="}}, None),
    ],
    ids=["memory", "precompiled"],
)
def test_one_that_takes_all_memory(parts: dict[str, Any], text: str | None, tmp_path: Path) -> None:
    folder = write(tmp_path, **parts)
    with pytest.raises(UserError, match=TOO_MUCH):
        ModelTokenizer(folder).tokenize(Sentence(text or ""))
    sound = ModelTokenizer(demo_folder(), {"model_type": "bert"})
    assert [token.id for token in sound.tokenize(Sentence("a"))] == [101, 1037, 102]


@linux
def test_one_that_takes_all_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_process: None
) -> None:
    monkeypatch.setattr(process, "WORK_SECONDS", 1)
    tokenizer = ModelTokenizer(write(tmp_path, normalizer=SLOW))
    with pytest.raises(UserError, match=TOO_MUCH):
        tokenizer.tokenize(Sentence("a" * 100_000))


def test_one_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_process: None
) -> None:
    monkeypatch.setattr(process, "ANSWER_SECONDS", 0.2)
    code = "print('ready', flush=True); input(); input()"
    monkeypatch.setattr(child_process, "command", lambda *_: [sys.executable, "-c", code])
    with pytest.raises(UserError, match=TOO_MUCH):
        ModelTokenizer(write(tmp_path))


def test_waiting_can_be_cancelled_and_the_next_one_is_served(
    tmp_path: Path, own_process: None
) -> None:
    tokenizer = ModelTokenizer(write(tmp_path, normalizer=SLOW))
    started = time.monotonic()

    def cancel(done: int, total: int, label: str) -> None:
        if time.monotonic() > started + 0.1:
            raise Cancelled

    with pytest.raises(Cancelled):
        tokenizer.tokenize(Sentence("a" * 100_000), cancel)
    # What it still does is waited for a little, and then ended.
    sound = ModelTokenizer(demo_folder(), {"model_type": "bert"})
    assert [token.id for token in sound.tokenize(Sentence("a"))] == [101, 1037, 102]


def test_waiting_for_the_start_can_be_cancelled(tmp_path: Path, own_process: None) -> None:
    def cancel(done: int, total: int, label: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        ModelTokenizer(write(tmp_path), progress=cancel)
    number = child_number()
    assert len(ModelTokenizer(write(tmp_path)).tokenize(Sentence("a b"))) == 2
    assert child_number() == number  # it was not started anew


def test_threads_take_turns(tmp_path: Path) -> None:
    write(tmp_path)
    counts: list[int] = []

    def count(words: int) -> None:
        tokenizer = ModelTokenizer(tmp_path)
        counts.extend(len(tokenizer.tokenize(Sentence("a " * words))) for _ in range(20))

    threads = [threading.Thread(target=count, args=(words,)) for words in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == [1] * 20 + [2] * 20 + [3] * 20


def test_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    first = ModelTokenizer(write(tmp_path))
    names = {"do": "names", "number": first.number}
    with tokenizer_process().turn(no_progress) as child:
        assert child.ask(names, no_progress, "")
        del first
        with pytest.raises(UserError, match="KeyError: "):
            child.ask(names, no_progress, "")
        assert list(child.folder.iterdir()) == []  # the copies are gone too


def test_where_no_process_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_process: None
) -> None:
    monkeypatch.setattr(child_process, "command", lambda *_: [str(tmp_path / "nothing")])
    tokenizer_process().start()  # says nothing
    with pytest.raises(UserError, match=r"^tokenizers cannot be read: No such f"):
        ModelTokenizer(write(tmp_path))


def test_what_waits_ends_with_the_process(tmp_path: Path, own_process: None) -> None:
    tokenizer = ModelTokenizer(write(tmp_path, normalizer=SLOW))
    with tokenizer_process().turn(no_progress) as child:
        folder = child.folder
    started = time.monotonic()

    def stop(done: int, total: int, label: str) -> None:
        if time.monotonic() > started + 0.1:
            tokenizer_process().stop()

    with pytest.raises(UserError, match=TOO_MUCH):
        tokenizer.tokenize(Sentence("a" * 100_000), stop)
    assert not folder.exists()


def test_it_leaves_nothing_behind_when_who_asks_is_killed(
    tmp_path: Path, own_process: None
) -> None:
    ModelTokenizer(write(tmp_path))
    with tokenizer_process().turn(no_progress) as child:
        assert child.process.stdin is not None
        child.process.stdin.close()  # as the system does
        assert child.process.wait(60) == 0
        assert not child.folder.exists()


def test_its_folder_may_be_tidied_away(tmp_path: Path, own_process: None) -> None:
    tokenizer = ModelTokenizer(write(tmp_path))
    with tokenizer_process().turn(no_progress) as child:
        child.folder.rmdir()
    assert len(tokenizer.tokenize(Sentence("a b"))) == 2
    assert len(ModelTokenizer(tmp_path).tokenize(Sentence("a b"))) == 2


def test_text_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the tokenizer cannot read this text"):
        ModelTokenizer(write(tmp_path)).tokenize(Sentence("\ud800"))


@linux
def test_ctrl_c_ends_a_command_that_waits_for_it(tiny_bert_folder: Path, tmp_path: Path) -> None:
    write(tmp_path, normalizer=SLOW)
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((tiny_bert_folder / name).read_bytes())
    # A shell that runs the tests in its background leaves it ignored.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from bertviewer.app import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "run", str(tmp_path), "a" * 100_000]
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        _wait_until_busy(running.pid)
        os.killpg(running.pid, signal.SIGINT)
        output, errors = running.communicate(timeout=60)
    finally:
        running.kill()
        running.communicate()
    assert (running.returncode, output) == (2, "")
    assert errors.splitlines()[-1] == f"{ERROR}interrupted"


def _wait_until_busy(parent: int) -> None:
    """Wait until a process has a child that reads tokenizers and works."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                status = (folder / "stat").read_text().rpartition(")")[2].split()
                is_child = int(status[1]) == parent
                if is_child and int(status[11]) > 3 * os.sysconf("SC_CLK_TCK"):
                    return
            except OSError:
                continue
        time.sleep(0.1)
    pytest.fail("the child did no work")
