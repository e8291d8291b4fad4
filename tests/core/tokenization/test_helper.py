"""Tokenizers in their helper process: its limits, and what happens when it ends."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bertviewer.app import ERROR
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.tokenization import model_tokenizer
from bertviewer.core.tokenization.files import SETTINGS, TOKENIZER
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer, tokenizer_helper
from bertviewer.core.util import helper_process
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.sandbox import LIMIT_EXCEEDED

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


def write(folder: Path, **parts: Any) -> Path:
    (folder / TOKENIZER).write_text(json.dumps({**SOUND, **parts}))
    (folder / SETTINGS).write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return folder


@pytest.fixture
def sound() -> ModelTokenizer:
    return ModelTokenizer(demo_folder(), {"model_type": "bert"})


def ids(tokenizer: ModelTokenizer) -> list[int]:
    return [token.id for token in tokenizer.tokenize(Sentence("a"))]


def test_what_died_is_loaded_again(sound: ModelTokenizer) -> None:
    before = ids(sound)
    with tokenizer_helper().session() as process:
        process.process.kill()
        process.process.wait()
    assert ids(sound) == before
    with tokenizer_helper().session() as another:
        assert another is not process


@linux
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"normalizer": ENDLESS}, "a"),  # 10^16 letters
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////fw=="}}, None),
    ],
    ids=["memory", "precompiled"],
)
def test_one_that_takes_all_memory(
    parts: dict[str, Any], text: str | None, tmp_path: Path, sound: ModelTokenizer
) -> None:
    folder = write(tmp_path, **parts)
    with pytest.raises(UserError, match=LIMIT_EXCEEDED):
        ModelTokenizer(folder).tokenize(Sentence(text or ""))
    assert ids(sound) == [101, 1037, 102]


def test_a_crash_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_process, "command", lambda *_: [sys.executable, "-c", ""])
    tokenizer_helper().stop()
    problem = f"{tmp_path}: the tokenizer cannot be read: the helper process crashed"
    with pytest.raises(UserError, match=f"^{re.escape(problem)}"):
        ModelTokenizer(write(tmp_path))


def test_no_room_for_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(model_tokenizer, "write_private_copy", full)
    with pytest.raises(UserError, match=r"^tokenizers cannot be read: No space left on device$"):
        ModelTokenizer(write(tmp_path))


def test_what_is_not_used_any_more_is_closed(tmp_path: Path) -> None:
    first = ModelTokenizer(write(tmp_path))
    names = {"number": first._number}
    with tokenizer_helper().session() as process:
        assert process.call("vocabulary", names)
    del first
    second = ModelTokenizer(tmp_path)
    with tokenizer_helper().session() as process:
        with pytest.raises(UserError, match="KeyError: "):
            process.call("vocabulary", names)
        assert list(process.folder.iterdir()) == []  # the copies are deleted too
    assert len(second.tokenize(Sentence("a b"))) == 2


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
