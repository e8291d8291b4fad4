"""Untrusted files of runs: each fault is reported in one line."""

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.saved_runs import file_format
from bertviewer.core.saved_runs.file_format import MAGIC, read_runs, read_saved_model
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.saved_runs.saved_runs import run_file, write


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    model = open_model(parse_source("demo"))
    path = tmp_path_factory.mktemp("runs") / "sound.bertviewer"
    write(path, run_file(model, run_sentence(model, Sentence("a cat"))))
    return path.read_bytes()


def parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    unpacked = zlib.decompress(content[len(MAGIC) :])
    length = int.from_bytes(unpacked[:8], "little")
    return json.loads(unpacked[8 : 8 + length]), unpacked[8 + length :]


def packed(text: bytes, arrays: bytes = b"") -> bytes:
    return MAGIC + zlib.compress(len(text).to_bytes(8, "little") + text + arrays)


def why(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_runs(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "untrusted.bertviewer"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"{}", b"bertviewer.runs/2\n"])
def test_another_kind_of_file(path: Path, content: bytes) -> None:
    assert "not a saved run of bertviewer, or of another version" in why(path, content)


def test_a_file_that_is_cut_off_or_damaged(path: Path, sound: bytes) -> None:
    assert "truncated" in why(path, sound[:-20])
    assert "truncated" in why(path, MAGIC)
    assert "corrupt" in why(path, MAGIC + b"\xff" * 50)
    assert "truncated or too large" in why(path, MAGIC + zlib.compress(b"\xff" * 8 + b"{}"))


def test_a_small_file_that_unpacks_to_a_huge_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_format, "MAX_ARRAYS", 1_000_000)
    monkeypatch.setattr(file_format, "MAX_TEXT", 1_000_000)
    assert "too large" in why(path, packed(b"{}", bytes(3_000_000)))
    assert "too large" in why(path, packed(b" " * 1_500_000))


def test_arrays_that_share_their_bytes(path: Path, sound: bytes) -> None:
    """A small file could ask for the same array thousands of times."""
    data, arrays = parts(sound)
    data["run"]["hidden_states"] = data["run"]["hidden_states"][:1] * 200
    data["run"]["token_norms"] = data["run"]["token_norms"][:1] * 200
    data["run"]["state_paths"] = data["run"]["state_paths"][:1] * 200
    assert "overlaps another" in why(path, packed(json.dumps(data).encode(), arrays))


def test_more_tokens_or_states_than_any_model(path: Path, sound: bytes) -> None:
    data, arrays = parts(sound)
    run = data["run"]
    run["tokens"] = run["tokens"][:1] * 10_001
    run["token_norms"], run["hidden_states"], run["state_paths"] = [], [], []
    assert "10,001 tokens" in why(path, packed(json.dumps(data).encode(), arrays))
    run["tokens"] = run["tokens"][:1]
    run["token_norms"] = [[1.0]] * 2_001
    assert "2,001 hidden states" in why(path, packed(json.dumps(data).encode(), arrays))
    # Few tokens and few states, and yet too many cosines.
    run["tokens"], run["token_norms"] = run["tokens"] * 2_000, [[1.0] * 2_000] * 1_001
    assert "too much" in why(path, packed(json.dumps(data).encode(), arrays))


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
def test_what_is_no_sensible_json(path: Path, text: bytes) -> None:
    why(path, packed(text))


def module(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["run"]["modules"][1]
    return found


def statistics(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = module(data)["calls"][0]
    return found


def token(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["run"]["tokens"][0]
    return found


def state(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["run"]["hidden_states"][0]
    return found


CALL = "$.run.modules[1].calls[0]"
INFINITE = {"__float__": "Infinity"}
CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
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
    "`int` >= 0 - at `$.run.modules[1].macs`": lambda d: module(d).update(macs=-1),
    "of length >= 1 - at `$.run.modules[1].calls`": lambda d: module(d).update(calls=[]),
    "modules are duplicated": lambda d: module(d).update(path=""),
    "at `$.run.seconds_total`": lambda d: d["run"].update(seconds_total=INFINITE),
    "the token norms do not match its tokens": lambda d: d["run"]["token_norms"][0].pop(),
    "at `$.run.token_norms[0][0]`": lambda d: d["run"]["token_norms"][0].insert(0, -1.0),
    "hidden states are missing": lambda d: d["run"]["hidden_states"].pop(),
    "the hidden states do not match": lambda d: state(d).update(shape=[2, 2]),
    "does not lie inside the file": lambda d: state(d).update(at=10**12),
    "not an array: Invalid enum value '|O8'": lambda d: state(d).update(dtype="|O8"),
    "at `$.shape[0]` - at `$.run.hidden_states[0]`": lambda d: state(d).update(shape=[-1]),
    "unknown kind": lambda d: d["run"]["source"].update(kind="<b>"),
    "unknown task": lambda d: d["run"]["source"].update(task="<b>"),
    "the sentence is empty": lambda d: d["run"]["sentence"].update(text=" "),
    "utf-16 surrogate": lambda d: token(d).update(text="\ud800"),
    "Invalid enum value 'x' - at `$.comparison`": lambda d: d.update(comparison="x"),
}


@pytest.mark.parametrize("said", list(CHANGES))
def test_data_that_cannot_be(path: Path, sound: bytes, said: str) -> None:
    data, arrays = parts(sound)
    CHANGES[said](data)
    assert said in why(path, packed(json.dumps(data).encode(), arrays))


def test_code_of_a_configuration_is_left_out_and_absurd_sizes_are_refused(
    path: Path, sound: bytes
) -> None:
    data, arrays = parts(sound)
    data["model"]["config"]["auto_map"] = {"AutoModel": "evil.py--Evil"}
    path.write_bytes(packed(json.dumps(data).encode(), arrays))
    assert "auto_map" not in read_saved_model(path)[0]
    data["model"]["config"]["num_hidden_layers"] = 10**9
    path.write_bytes(packed(json.dumps(data).encode(), arrays))
    with pytest.raises(UserError, match="num_hidden_layers"):
        open_model(parse_source(str(path)))
    data["model"]["task"] = "../x"
    data["model"]["config"]["num_hidden_layers"] = 6
    path.write_bytes(packed(json.dumps(data).encode(), arrays))
    with pytest.raises(UserError, match="task"):
        open_model(parse_source(str(path)))


def test_a_pipe_is_not_read(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(UserError):
        read_runs(path)
