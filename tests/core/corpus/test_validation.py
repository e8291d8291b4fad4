"""Untrusted folders of corpora: each fault is reported in one line that names the file."""

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from safetensors.numpy import load, save

from bertviewer.core.corpus import reading, shards
from bertviewer.core.corpus.making import Process
from bertviewer.core.corpus.merging import merge_corpora
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.plan import PLAN_FILE, SHARDS_FOLDER
from bertviewer.core.corpus.reading import is_corpus, read_corpus
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.errors import UserError
from tests.core.corpus.making_corpora import made

Change = Callable[[Any], Any]
FILES = ("manifest.json", "statistics.parquet", "features.safetensors")
TWO = CorpusOptions(limit=9, shards=2)


@pytest.fixture
def bad(small: Path, tmp_path: Path) -> Path:
    """Return a copy of a valid corpus, to be damaged."""
    return Path(shutil.copytree(small, tmp_path / "bad"))


@pytest.fixture(scope="module")
def shards_of_two(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "run"
    made(model, data, folder, TWO, process=Process(1, 2))
    shutil.copy(folder / SHARDS_FOLDER / "00001.shard", folder / SHARDS_FOLDER / "00000.shard")
    return folder


@pytest.fixture
def part(shards_of_two: Path, tmp_path: Path) -> Path:
    """Return a copy of the shards of an unfinished run, to be damaged."""
    return Path(shutil.copytree(shards_of_two, tmp_path / "part"))


def change_json(file: Path, change: Change) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")


IMPOSSIBLE: dict[str, list[Any]] = {
    "sentences": [None, "x", -1, True, 10**30],
    "left_out": [1e300, float("inf")],
    "source": [
        *([7], {"weights": "best"}, {"kind": "stolen"}, {"task": "poetry"}),
        *({"random_tensors": [1]}, {"name": "\ud800"}),
    ],
    "command": ["bertviewer \udfff", 7],
    "versions": [{"torch": 2}],
    "model": [{"configuration": "x", "files": [1]}],
    "choices": [{"limit": [1]}],
    "shards": [[{"sentences": -1}], {}],
    "data": [[{"name": "x"}], None],
    "modules": ["x", [7]],
    "states": [-1, [["x", -1]]],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in IMPOSSIBLE.items() for value in values]
)
def test_manifests(bad: Path, key: str, value: Any) -> None:
    def change(document: Any) -> None:
        is_table = isinstance(value, dict) and isinstance(document[key], dict)
        document[key] = {**document[key], **value} if is_table else value

    change_json(bad / "manifest.json", change)
    with pytest.raises(UserError, match=r"manifest\.json: ") as error:
        read_corpus(bad)
    str(error.value).encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", b"{}"),
        ("manifest.json", b'{"schema": "bertviewer.corpus/1"}'),
        ("statistics.parquet", b"PAR1"),
        ("features.safetensors", b"\0" * 40),
    ],
)
def test_other_contents(bad: Path, name: str, content: bytes) -> None:
    (bad / name).write_bytes(content)
    with pytest.raises(UserError, match=name):
        read_corpus(bad)


def endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


def outside(file: Path) -> None:
    other = file.parents[1] / "outside"
    other.write_bytes(b"PAR1" + b'{"schema": "bertviewer.corpus/1"}')
    file.symlink_to(other)


def sparse(file: Path) -> None:
    """Write a header that declares a tensor of 40 GB, which takes no space on the disk."""
    header = b'{"features:x:0:mean":{"dtype":"F64","shape":[5368709000],"data_offsets":[0,'
    header += b"42949672000]}}"
    with file.open("wb") as opened:
        opened.write(len(header).to_bytes(8, "little") + header)
        opened.truncate(8 + len(header) + 42949672000)


def nothing(file: Path) -> None:
    del file


REPLACEMENTS = [os.mkfifo, endless, outside, sparse, Path.mkdir, nothing]


@pytest.mark.parametrize("create", REPLACEMENTS)
@pytest.mark.parametrize("name", FILES)
def test_other_kinds_of_files(
    bad: Path, small: Path, name: str, create: Callable[[Path], None]
) -> None:
    (bad / name).unlink()
    create(bad / name)
    is_corpus(bad)  # does not wait for a pipe
    with pytest.raises(UserError, match=name):
        read_corpus(bad)
    with pytest.raises(UserError, match=str(bad)):
        merge_corpora([small, bad], "")


def column(name: str, value: Any) -> Change:
    """Return a change of all values of a column of the statistics."""

    def change(table: Any) -> Any:
        place = table.column_names.index(name)
        return table.set_column(place, name, pyarrow.array([value] * table.num_rows))

    return change


def histogram(row: list[Any]) -> Change:
    def change(table: Any) -> Any:
        rows = pyarrow.array([row] * table.num_rows, pyarrow.list_(pyarrow.int64()))
        return table.set_column(table.column_names.index("histogram"), "histogram", rows)

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(column("count", value) for value in (-1, 2**62, None, "9")),
        column("zeros", 2**50),
        column("nan", 2**50),
        *(column("sum", value) for value in (float("nan"), 1e300)),
        *(column("squares", value) for value in (-1.0, 1e300)),
        column("min", 1e300),
        *(column("path", value) for value in (7, "x" * 300_000)),
        *(histogram(row) for row in ([1] * 2047, [1] * 4096, [2**62] * 2048, [None] * 2048)),
        lambda table: table.drop_columns(["inf"]),
    ],
)
def test_statistics(bad: Path, change: Change) -> None:
    file = bad / "statistics.parquet"
    parquet.write_table(change(parquet.read_table(file)), file)
    with pytest.raises(UserError, match=r"statistics\.parquet: not a corpus's statistics: "):
        read_corpus(bad)


def test_a_table_with_too_many_rows(bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_ROWS", 3)
    with pytest.raises(UserError, match=r"it has \d+ rows and [\d,]+ numbers"):
        read_corpus(bad)


def array(ends: str, change: Change) -> Change:
    """Return a change of one of several arrays."""

    def change_one(arrays: dict[str, Any]) -> None:
        key = next(key for key in arrays if key.endswith(ends))
        arrays[key] = change(arrays[key])

    return change_one


def added(name: str) -> Change:
    return lambda arrays: arrays.update({name: np.zeros(3)})


@pytest.mark.parametrize(
    "change",
    [
        array(":mean", lambda it: it[:3]),
        array(":mean", lambda it: it.astype(np.float16)),
        array(":count", lambda it: it - 2**62),
        array(":entropy", lambda it: it[None]),
        array(":queries", lambda it: np.array(3.0)),
        array("outliers:tokens", lambda it: it[0]),
        array("outliers:farthest", lambda it: it.astype(np.float64)),
        *map(added, ("features:../x:0:evil", "features:x:zz:mean", "other:x:0:mean")),
        lambda arrays: arrays.pop("outliers:tokens"),
    ],
)
def test_features(bad: Path, change: Change) -> None:
    file = bad / "features.safetensors"
    arrays = {name: it.copy() for name, it in load(file.read_bytes()).items()}
    change(arrays)
    file.write_bytes(save(arrays))
    message = r"features\.safetensors: (not a corpus's features|.* is stored as F16)"
    with pytest.raises(UserError, match=message):
        read_corpus(bad)


def test_features_of_other_sizes_are_not_merged(bad: Path, small: Path) -> None:
    file = bad / "features.safetensors"
    arrays = load(file.read_bytes())
    file.write_bytes(save({name: it for name, it in arrays.items() if "layer.1" not in name}))
    with pytest.raises(UserError, match="its features or heads differ from those of the first"):
        merge_corpora([small, bad], "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("shards", "x"), ("shards", -3), ("shards", 10**17), ("shards", None)),
        *(("measured", {}), ("measured", None), ("stacks", [10**17])),
        *(("data", 7), ("source", None)),
    ],
)
def test_plans(part: Path, key: str, value: Any) -> None:
    def change(plan: Any) -> None:
        if key == "source":
            del plan[key]
        else:
            (plan["measured"] if key == "stacks" else plan)[key] = value

    change_json(part / SHARDS_FOLDER / PLAN_FILE, change)
    with pytest.raises(UserError, match="the shards or their plan are corrupt"):
        merge_corpora([part], "")


@pytest.mark.parametrize(
    "change",
    [
        array(".totals", lambda it: it[:3]),
        array("counted", lambda it: it[:1]),
        array("squares", lambda it: it.astype(np.float32)),
        # Arrays [D, 1] and [D] of two shards would add up to [D, D].
        array("rows.0.totals", lambda it: it[:, None]),
        lambda arrays: arrays.pop(next(key for key in arrays if key.endswith("squares"))),
    ],
)
def test_shards(part: Path, change: Change) -> None:
    for file in (part / SHARDS_FOLDER).glob("*.shard"):
        content = zlib.decompress(file.read_bytes())
        arrays = {key: it.copy() for key, it in load(content).items()}
        change(arrays)
        file.write_bytes(zlib.compress(save(arrays)))
    with pytest.raises(UserError, match="its arrays do not match what is measured"):
        merge_corpora([part], "")


@pytest.mark.parametrize("create", REPLACEMENTS[:-1])
@pytest.mark.parametrize("name", ["plan.json", "00001.shard"])
def test_other_kinds_of_shards(
    part: Path, name: str, create: Callable[[Path], None], model: LoadedModel, data: Path
) -> None:
    file = part / SHARDS_FOLDER / name
    file.unlink()
    create(file)
    with pytest.raises(UserError, match=name):
        merge_corpora([part], "")
    if create is not sparse:  # such a shard is run again
        with pytest.raises(UserError, match=f"the folder contains other files, such as {name}"):
            made(model, data, part, TWO)


def test_a_shards_folder_elsewhere(part: Path, model: LoadedModel, data: Path) -> None:
    elsewhere = (part / SHARDS_FOLDER).rename(part.with_name("elsewhere"))
    (part / SHARDS_FOLDER).symlink_to(elsewhere)
    with pytest.raises(UserError, match="a link that points outside its folder"):
        merge_corpora([part], "")
    with pytest.raises(UserError, match="a link that points outside its folder"):
        made(model, data, part, TWO)


def test_a_shard_that_is_too_large(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MAX_ARRAYS", 100_000)
    with pytest.raises(UserError, match="not a complete shard"):
        merge_corpora([part], "")
