"""Untrusted files of runs: each fault is reported in one line."""

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.saved_runs import file_format
from bertviewer.core.saved_runs import run_file as run_file_module
from bertviewer.core.saved_runs.file_format import MAGIC, read_runs, read_saved_model
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.saved_runs.saved_runs import run_file, write

Data = dict[str, Any]


@pytest.fixture(scope="module")
def sound(
    tmp_path_factory: pytest.TempPathFactory, model: LoadedModel, run: ActivationRun
) -> bytes:
    """Return a valid file."""
    path = tmp_path_factory.mktemp("runs") / "sound.bertviewer"
    write(path, run_file(model, run))
    return path.read_bytes()


@pytest.fixture(scope="module")
def unpacked(sound: bytes) -> tuple[str, bytes]:
    """Return the JSON and the arrays of a valid file."""
    content = zlib.decompress(sound[len(MAGIC) :])
    length = int.from_bytes(content[:8], "little")
    return content[8 : 8 + length].decode(), content[8 + length :]


def packed(text: bytes, arrays: bytes = b"") -> bytes:
    return MAGIC + zlib.compress(len(text).to_bytes(8, "little") + text + arrays)


Change = Callable[[Data], object]


@pytest.fixture
def changed(unpacked: tuple[str, bytes]) -> Callable[[Change], bytes]:
    """Return a function that changes the JSON of a valid file."""

    def change(function: Change) -> bytes:
        data = json.loads(unpacked[0])
        function(data)
        return packed(json.dumps(data).encode(), unpacked[1])

    return change


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "untrusted.bertviewer"


def error_of(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_runs(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"{}", b"bertviewer.runs/2\n"])
def test_other_files(path: Path, content: bytes) -> None:
    assert "not a saved run of bertviewer, or of another version" in error_of(path, content)


def test_a_pipe_is_not_read(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(UserError):
        read_runs(path)


def test_truncated_and_damaged_files(path: Path, sound: bytes) -> None:
    assert "truncated" in error_of(path, sound[:-20])
    assert "truncated" in error_of(path, MAGIC)
    assert "corrupt" in error_of(path, MAGIC + b"\xff" * 50)
    assert "truncated or too large" in error_of(path, MAGIC + zlib.compress(b"\xff" * 8 + b"{}"))


def test_a_small_file_that_unpacks_to_a_large_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_format, "MAX_ARRAYS", 1_000_000)
    monkeypatch.setattr(file_format, "MAX_TEXT", 1_000_000)
    assert "too large" in error_of(path, packed(b"{}", bytes(3_000_000)))
    assert "too large" in error_of(path, packed(b" " * 1_500_000))


def test_reading_can_be_cancelled(
    path: Path, sound: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_format, "_BLOCK", 1000)

    def stop(done: int, total: int, label: str) -> None:
        if done:
            raise Cancelled

    path.write_bytes(sound)
    with pytest.raises(Cancelled):
        read_runs(path, stop)


@pytest.mark.parametrize(
    "text",
    [b"", b"[", b"\xff", b"NaN", b"[1e999, Infinity]", b"[" * 100_000, b"9" * 5000, b'"\\ud800"'],
)
def test_invalid_json(path: Path, text: bytes) -> None:
    error_of(path, packed(text))


def test_sizes_that_are_too_large(
    path: Path, changed: Callable[[Change], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(tokens: int, states: int) -> bytes:
        def change(data: Data) -> None:
            run = data["run"]
            run["tokens"] = run["tokens"][:1] * tokens
            run["token_norms"] = [[1.0] * tokens] * states
            run["hidden_states"], run["state_paths"] = [], []

        return changed(change)

    assert "10,001 tokens" in error_of(path, of(10_001, 0))
    assert "2,001 hidden states" in error_of(path, of(1, 2_001))
    # Few tokens and few states, but too many cosines.
    monkeypatch.setattr(run_file_module, "MAX_COSINES", 1_000)
    assert "10 tokens in 11 hidden states, which is too much" in error_of(path, of(10, 11))


def module(data: Data) -> Data:
    """Return the first module that is called with tokens."""
    found: Data = data["run"]["modules"][2]
    return found


def statistics(data: Data) -> Data:
    found: Data = module(data)["calls"][0]
    return found


def token(data: Data) -> Data:
    found: Data = data["run"]["tokens"][0]
    return found


def state(data: Data) -> Data:
    found: Data = data["run"]["hidden_states"][0]
    return found


def repeated(data: Data) -> None:
    """Use one array hundreds of times, as a small file could to fill the memory."""
    for name in ("hidden_states", "token_norms", "state_paths"):
        data["run"][name] = data["run"][name][:1] * 200


def with_long_norms(data: Data) -> None:
    """Let a module have more norms than there are tokens."""
    place = state(data)
    module(data)["token_norms"] = {**place, "shape": [place["shape"][0] * place["shape"][1]]}
    data["run"]["hidden_states"], data["run"]["state_paths"] = [], []


CALL = "$.run.modules[2].calls[0]"
INFINITE = {"__float__": "Infinity"}
CHANGES: dict[str, Change] = {
    "unknown field `other`": lambda d: d.update(other=1),
    "missing required field `run`": lambda d: d.pop("run"),
    "'bertviewer.runs/9' - at `$.schema`": lambda d: d.update(schema="bertviewer.runs/9"),
    "Expected `array`, got `object` - at `$.run.tokens`": lambda d: d["run"].update(tokens={}),
    "Expected `int`, got `bool` - at `$.run.tokens[0].id`": lambda d: token(d).update(id=True),
    "`int` >= 0 - at `$.run.tokens[0].segment`": lambda d: token(d).update(segment=-1),
    "of length >= 1 - at `$.run.tokens`": lambda d: d["run"].update(tokens=[]),
    f"Expected `int`, got `str` - at `{CALL}.count`": lambda d: statistics(d).update(count="5"),
    f"Expected `int` >= 0 - at `{CALL}.count`": lambda d: statistics(d).update(count=-5),
    "a count is out of range": lambda d: statistics(d).update(zero_count=10**9),
    f"Expected `int` <= 1023 - at `{CALL}.exponent`": lambda d: statistics(d).update(exponent=1024),
    f"at `{CALL}.total`": lambda d: statistics(d).update(total=INFINITE),
    "minimum or maximum is missing": lambda d: statistics(d).update(min=None),
    "minimum or maximum is out of range": lambda d: statistics(d).update(min=1e9, max=-1e9),
    "too many digits": lambda d: module(d).update(macs=10**20),
    "`int` >= 0 - at `$.run.modules[2].macs`": lambda d: module(d).update(macs=-1),
    "of length >= 1 - at `$.run.modules[2].calls`": lambda d: module(d).update(calls=[]),
    "modules are duplicated": lambda d: module(d).update(path=""),
    "a module's norms do not match its tokens": with_long_norms,
    "at `$.run.seconds_total`": lambda d: d["run"].update(seconds_total=INFINITE),
    "the token norms do not match its tokens": lambda d: d["run"]["token_norms"][0].pop(),
    "at `$.run.token_norms[0][0]`": lambda d: d["run"]["token_norms"][0].insert(0, -1.0),
    "hidden states are missing": lambda d: d["run"]["hidden_states"].pop(),
    "the hidden states do not match": lambda d: state(d).update(shape=[2, 2]),
    "does not lie inside the file": lambda d: state(d).update(at=10**12),
    "an array overlaps another one": repeated,
    "not an array: Invalid enum value '|O8'": lambda d: state(d).update(dtype="|O8"),
    "at `$.shape[0]` - at `$.run.hidden_states[0]`": lambda d: state(d).update(shape=[-1]),
    "unknown kind": lambda d: d["run"]["source"].update(kind="<b>"),
    "unknown task": lambda d: d["run"]["source"].update(task="<b>"),
    "the sentence is empty": lambda d: d["run"]["sentence"].update(text=" "),
    "utf-16 surrogate": lambda d: token(d).update(text="\ud800"),
    "Invalid enum value 'x' - at `$.comparison`": lambda d: d.update(comparison="x"),
}


@pytest.mark.parametrize("message", CHANGES)
def test_impossible_data(path: Path, changed: Callable[[Change], bytes], message: str) -> None:
    assert message in error_of(path, changed(CHANGES[message]))


def test_the_configuration_is_not_trusted(path: Path, changed: Callable[[Change], bytes]) -> None:
    def open_changed(task: str = "base", **config: Any) -> None:
        def change(data: Data) -> None:
            data["model"]["task"] = task
            data["model"]["config"] |= config

        path.write_bytes(changed(change))

    open_changed(auto_map={"AutoModel": "evil.py--Evil"})
    assert "auto_map" not in read_saved_model(path)[0]
    open_changed(num_hidden_layers=10**9)
    with pytest.raises(UserError, match="num_hidden_layers"):
        open_model(parse_source(str(path)))
    open_changed(task="../x")
    with pytest.raises(UserError, match="task"):
        open_model(parse_source(str(path)))
