"""Folders of corpora that are damaged, or made to do harm: each is one line that names the file."""

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

from bertviewer.core.corpus import shards
from bertviewer.core.corpus.making import Process
from bertviewer.core.corpus.merging import DIFFERS, merge_corpora
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.plan import PLAN_FILE, SHARDS_FOLDER
from bertviewer.core.corpus.reading import is_corpus, read_corpus
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.errors import UserError
from tests.core.corpus.making_corpora import made

Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def good(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "one"
    made(model, data, folder, CorpusOptions(limit=9))
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


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("source", {"weights": "best"}),
        ("source", {"kind": "stolen"}),
        ("source", {"task": "poetry"}),
        ("source", {"random_tensors": [1]}),
        ("source", {"name": "\ud800"}),
        ("command", "bertviewer \udfff"),
        ("versions", {"torch": 2}),
        ("model", {"configuration": "x", "files": [1]}),
        ("choices", {"limit": [1]}),
        ("shards", [{"sentences": -1}]),
        ("data", [{"name": "x"}]),
    ],
)
def test_values_in_a_manifest_that_cannot_be(bad: Path, key: str, value: Any) -> None:
    file = bad / "manifest.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    is_table = isinstance(value, dict)
    document[key] = {**document[key], **value} if is_table else value
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserError, match=r"manifest\.json: ") as error:
        read_corpus(bad)
    str(error.value).encode()


def pipe(file: Path) -> None:
    os.mkfifo(file)


def endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


def outside(file: Path) -> None:
    other = file.parents[1] / "outside"
    other.write_bytes(b"PAR1" + b'{"schema": "bertviewer.corpus/1"}')
    file.symlink_to(other)


def sparse(file: Path) -> None:
    with file.open("wb") as opened:
        # Its first bytes may be good: the length of a header that says all the rest are a tensor.
        header = b'{"features:x:0:mean":{"dtype":"F64","shape":[5368709000],"data_offsets":[0,'
        header += b"42949672000]}}"
        opened.write(len(header).to_bytes(8, "little") + header)
        opened.truncate(8 + len(header) + 42949672000)


NO_FILES = [pipe, endless, outside, sparse, Path.mkdir]


@pytest.mark.parametrize("replaced", NO_FILES)
@pytest.mark.parametrize("name", ["manifest.json", "statistics.parquet", "features.safetensors"])
def test_what_is_no_file_of_the_folder(
    bad: Path, good: Path, name: str, replaced: Callable[[Path], None]
) -> None:
    (bad / name).unlink()
    replaced(bad / name)
    is_corpus(bad)
    with pytest.raises(UserError, match=name):
        read_corpus(bad)
    with pytest.raises(UserError, match=str(bad)):
        merge_corpora([good, bad], "")


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
        column("sum", lambda rows: [1e300] * rows),
        column("squares", lambda rows: [-1.0] * rows),
        column("squares", lambda rows: [1e300] * rows),
        column("min", lambda rows: [1e300] * rows),
        column("path", lambda rows: [7] * rows),
        column("path", lambda rows: ["x" * 3_000_000] * rows),
        column("token_class", lambda rows: ["x" * 5_000_000] * rows),
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
    with pytest.raises(UserError, match=r"statistics\.parquet: not a corpus's statistics: "):
        read_corpus(bad)


def test_a_table_that_says_it_is_larger_than_memory(
    bad: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.core.corpus.reading.MAX_ROWS", 3)
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
    said = r"features\.safetensors: (not a corpus's features|.* is stored as F16)"
    with pytest.raises(UserError, match=said):
        read_corpus(bad)


def test_features_of_other_sizes_than_those_of_the_first(bad: Path, good: Path) -> None:
    file = bad / "features.safetensors"
    arrays = load(file.read_bytes())
    file.write_bytes(save({key: array for key, array in arrays.items() if "layer.1" not in key}))
    with pytest.raises(UserError, match="its features or heads differ from those of the first"):
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
    with pytest.raises(UserError, match="nothing to merge"):
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
    made(model, data, folder, CorpusOptions(limit=9, shards=2), process=Process(1, 2))
    shards = folder / SHARDS_FOLDER
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
    file = part / SHARDS_FOLDER / PLAN_FILE
    plan = json.loads(file.read_text(encoding="utf-8"))
    if value is ...:
        del plan[key]
    else:
        plan[key] = value
    file.write_text(json.dumps(plan), encoding="utf-8")
    with pytest.raises(UserError, match="the shards or their plan are corrupt"):
        merge_corpora([part], "")


def test_a_plan_with_more_states_than_memory(part: Path) -> None:
    file = part / SHARDS_FOLDER / PLAN_FILE
    plan = json.loads(file.read_text(encoding="utf-8"))
    plan["measured"]["stacks"] = [10**17]
    file.write_text(json.dumps(plan), encoding="utf-8")
    with pytest.raises(UserError, match="its arrays do not match what is measured"):
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
    file = part / SHARDS_FOLDER / "00001.shard"
    arrays = {key: array.copy() for key, array in load(zlib.decompress(file.read_bytes())).items()}
    change(arrays)
    file.write_bytes(zlib.compress(save(arrays)))
    with pytest.raises(UserError, match="corrupt"):
        merge_corpora([part], "")


@pytest.mark.parametrize("replaced", NO_FILES)
@pytest.mark.parametrize("name", ["plan.json", "00001.shard"])
def test_what_is_no_file_of_the_shards(
    part: Path, name: str, replaced: Callable[[Path], None], model: LoadedModel, data: Path
) -> None:
    file = part / SHARDS_FOLDER / name
    file.unlink()
    replaced(file)
    with pytest.raises(UserError, match=name):
        merge_corpora([part], "")
    if replaced is not sparse:  # such a shard is run again
        with pytest.raises(UserError, match=f"the folder contains other files, such as {name}"):
            made(model, data, part, CorpusOptions(limit=9, shards=2))


def test_shards_that_lie_elsewhere(part: Path, model: LoadedModel, data: Path) -> None:
    (part / SHARDS_FOLDER).rename(part.with_name("elsewhere"))
    (part / SHARDS_FOLDER).symlink_to(part.with_name("elsewhere"))
    with pytest.raises(UserError, match="a link that points outside its folder"):
        merge_corpora([part], "")
    with pytest.raises(UserError, match="a link that points outside its folder"):
        made(model, data, part, CorpusOptions(limit=9, shards=2))


def test_sums_that_would_be_as_many_as_their_product(part: Path) -> None:
    """Arrays [D, 1] and [D] give one of [D, D] when they are added."""
    for name in ("00000.shard", "00001.shard"):
        file = part / SHARDS_FOLDER / name
        arrays = dict(load(zlib.decompress(file.read_bytes())))
        arrays["rows.0.totals"] = arrays["rows.0.totals"][:, None]
        file.write_bytes(zlib.compress(save({n: np.array(a) for n, a in arrays.items()})))
    with pytest.raises(UserError, match="its arrays do not match what is measured"):
        merge_corpora([part], "")


def test_a_shard_that_is_larger_than_memory(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MAX_ARRAYS", 100_000)
    with pytest.raises(UserError, match="not a complete shard"):
        merge_corpora([part], "")
