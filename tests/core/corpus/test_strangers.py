"""Folders of corpora that are damaged, or made to do harm: each is one line that names the file."""

import json
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

from bertviewer.core.corpus import shard_files
from bertviewer.core.corpus.choices import Choices
from bertviewer.core.corpus.making import Part
from bertviewer.core.corpus.merging import DIFFERS, merge_corpora
from bertviewer.core.corpus.plan import FOLDER, NAME
from bertviewer.core.corpus.reading import read_corpus
from bertviewer.core.errors import UserError
from bertviewer.core.loading.loaded_model import LoadedModel
from tests.core.corpus.making_corpora import made

Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def good(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "one"
    made(model, data, folder, Choices(limit=9))
    return folder


@pytest.fixture
def bad(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "bad"))


@pytest.mark.parametrize("value", [None, "x", -1, True, [7], {}, 1e300, float("inf"), 10**30])
@pytest.mark.parametrize("key", ["sentences", "left_out", "source", "modules", "data", "states"])
def test_manifests(bad: Path, key: str, value: Any) -> None:
    file = bad / "manifest.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document[key] = value
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserError, match=r"manifest\.json: "):
        read_corpus(bad)


def column(name: str, values: Callable[[int], list[Any]]) -> Change:
    def change(table: Any) -> Any:
        place = table.column_names.index(name)
        return table.set_column(place, name, pyarrow.array(values(table.num_rows)))

    return change


def histogram(row: list[Any]) -> Change:
    def change(table: Any) -> Any:
        rows = pyarrow.array([row] * table.num_rows, pyarrow.list_(pyarrow.int64()))
        return table.set_column(table.column_names.index("histogram"), "histogram", rows)

    return change


@pytest.mark.parametrize(
    "change",
    [
        column("count", lambda rows: [-1] * rows),
        column("count", lambda rows: [2**62] * rows),
        column("count", lambda rows: [None] * rows),
        column("count", lambda rows: ["9"] * rows),
        column("zeros", lambda rows: [2**50] * rows),
        column("nan", lambda rows: [2**50] * rows),
        column("sum", lambda rows: [float("nan")] * rows),
        column("min", lambda rows: [1e300] * rows),
        column("path", lambda rows: [7] * rows),
        histogram([1] * 2047),
        histogram([1] * 4096),
        histogram([2**62] * 2048),
        histogram([None] * 2048),
        lambda table: table.drop_columns(["inf"]),
    ],
)
def test_statistics(bad: Path, change: Change) -> None:
    file = bad / "statistics.parquet"
    parquet.write_table(change(parquet.read_table(file)), file)
    with pytest.raises(UserError, match=r"statistics\.parquet: not the statistics of a corpus: "):
        read_corpus(bad)


def test_a_table_that_says_it_is_larger_than_memory(
    bad: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.core.corpus.reading.MOST_ROWS", 3)
    with pytest.raises(UserError, match=r"it has \d+ rows and [\d,]+ numbers"):
        read_corpus(bad)


def changed(ends: str, change: Change) -> Change:
    def change_one(arrays: dict[str, Any]) -> None:
        key = next(key for key in arrays if key.endswith(ends))
        arrays[key] = change(arrays[key])

    return change_one


@pytest.mark.parametrize(
    "change",
    [
        changed(":mean", lambda array: array[:3]),
        changed(":mean", lambda array: array.astype(np.float16)),
        changed(":count", lambda array: array - 2**62),
        changed(":entropy", lambda array: array[None]),
        changed(":queries", lambda array: np.array(3.0)),
        changed("outliers:tokens", lambda array: array[0]),
        changed("outliers:farthest", lambda array: array.astype(np.float64)),
        lambda arrays: arrays.update({"features:../x:0:evil": np.zeros(3)}),
        lambda arrays: arrays.update({"features:x:zz:mean": np.zeros(3)}),
        lambda arrays: arrays.update({"other:x:0:mean": np.zeros(3)}),
        lambda arrays: arrays.pop("outliers:tokens"),
    ],
)
def test_features(bad: Path, change: Change) -> None:
    file = bad / "features.safetensors"
    arrays = {name: array.copy() for name, array in load(file.read_bytes()).items()}
    change(arrays)
    file.write_bytes(save(arrays))
    said = r"features\.safetensors: (not the features of a corpus|.* is stored as F16)"
    with pytest.raises(UserError, match=said):
        read_corpus(bad)


def test_features_of_other_sizes_than_those_of_the_first(bad: Path, good: Path) -> None:
    file = bad / "features.safetensors"
    arrays = load(file.read_bytes())
    file.write_bytes(save({key: array for key, array in arrays.items() if "layer.1" not in key}))
    with pytest.raises(UserError, match="its features or heads are others than those of the first"):
        merge_corpora([good, bad], "")


def test_what_is_merged_is_told_truly(bad: Path, good: Path) -> None:
    file = bad / "manifest.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["versions"]["torch"] = "1.0"
    document["choices"]["max_tokens"] = 7
    file.write_text(json.dumps(document), encoding="utf-8")
    manifest = merge_corpora([good, bad], "again").manifest
    assert (manifest["versions"]["torch"], manifest["choices"]["max_tokens"]) == (DIFFERS,) * 2
    assert manifest["choices"]["limit"] == 9


def test_what_cannot_be_merged(good: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is nothing to merge"):
        merge_corpora([], "")
    link = tmp_path / "link"
    link.symlink_to(good)
    with pytest.raises(UserError, match="it would be counted twice"):
        merge_corpora([good, link], "")
    with pytest.raises(UserError, match=r"shards: No such file"):
        merge_corpora([tmp_path], "")


@pytest.fixture(scope="module")
def whole(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "run"
    made(model, data, folder, Choices(limit=9, shards=2), part=Part(1, 2))
    shards = folder / FOLDER
    shutil.copy(shards / "00001.shard", shards / "00000.shard")
    return folder


@pytest.fixture
def part(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "part"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shards", "x"),
        ("shards", -3),
        ("shards", 10**17),
        ("shards", None),
        ("measured", {}),
        ("measured", None),
        ("data", 7),
        ("source", ...),
    ],
)
def test_plans_of_parts(part: Path, key: str, value: Any) -> None:
    file = part / FOLDER / NAME
    plan = json.loads(file.read_text(encoding="utf-8"))
    if value is ...:
        del plan[key]
    else:
        plan[key] = value
    file.write_text(json.dumps(plan), encoding="utf-8")
    with pytest.raises(UserError, match="the shards or their plan are damaged"):
        merge_corpora([part], "")


@pytest.mark.parametrize(
    "change",
    [
        changed(".totals", lambda array: array[:3]),
        changed("counted", lambda array: array[:1]),
        lambda arrays: arrays.pop(next(key for key in arrays if key.endswith("squares"))),
    ],
)
def test_shards_of_parts(part: Path, change: Change) -> None:
    file = part / FOLDER / "00001.shard"
    arrays = {key: array.copy() for key, array in load(zlib.decompress(file.read_bytes())).items()}
    change(arrays)
    file.write_bytes(zlib.compress(save(arrays)))
    with pytest.raises(UserError, match="damaged"):
        merge_corpora([part], "")


def test_a_shard_that_is_larger_than_memory(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_files, "MOST_ARRAYS", 100_000)
    with pytest.raises(UserError, match="it is no shard, or not a whole one"):
        merge_corpora([part], "")
