"""Corpora become one: without torch, of parts in several folders, and of several runs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bertviewer.core.corpus.comparison import compare_corpora
from bertviewer.core.corpus.making import Process
from bertviewer.core.corpus.merging import merge_corpora
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.reading import read_corpus
from bertviewer.core.corpus.writing import write_corpus
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.errors import UserError
from tests.core.corpus.making_corpora import content, made

WITHOUT_TORCH = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "tokenizers", "PySide6"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from bertviewer.app import main
sys.exit(main(sys.argv[1:]))
"""


def without_torch(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def whole(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("merged") / "whole"
    made(model, data, folder)
    return folder


@pytest.fixture(scope="module")
def halves(
    model: LoadedModel, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("halves")
    folders = place / "first", place / "second"
    for folder, part in zip(folders, (texts[:90], texts[90:]), strict=True):
        data = place / f"{folder.name}.txt"
        data.write_text("\n".join(part) + "\n", encoding="utf-8")
        made(model, data, folder, CorpusOptions())
    return folders


def test_shards_of_several_folders(
    model: LoadedModel, data: Path, tmp_path: Path, whole: Path
) -> None:
    """As of machines that share no folder."""
    parts = [tmp_path / f"node{rank}" for rank in range(2)]
    made(model, data, parts[1], process=Process(1, 2))
    with pytest.raises(UserError, match="4 of 7 shards are missing, first number 0"):
        merge_corpora([parts[1]], "")

    def no_waiting(done: int, total: int, label: str) -> None:
        if label.startswith("Waiting"):
            raise TimeoutError

    with pytest.raises(TimeoutError):
        made(model, data, parts[0], process=Process(0, 2), progress=no_waiting)
    done = without_torch("corpus-merge", *parts, "-o", tmp_path / "all")
    assert (done.returncode, done.stderr) == (0, "")
    merged, wanted = content(tmp_path / "all"), content(whole)
    del merged["manifest.json"], wanted["manifest.json"]
    assert merged == wanted


def test_finished_ones(halves: tuple[Path, Path], whole: Path, tmp_path: Path) -> None:
    done = without_torch("corpus-merge", *halves, "-o", tmp_path / "all")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].startswith("200 sentences · ")
    found, wanted = read_corpus(tmp_path / "all"), read_corpus(whole)
    assert found.call_keys == wanted.call_keys
    for row, other in zip(found.rows, wanted.rows, strict=True):
        assert (row.path, row.call, row.token_class) == (other.path, other.call, other.token_class)
        assert row.count == other.count
        assert row.squares == pytest.approx(other.squares, rel=1e-6)
        assert np.abs(row.histogram - other.histogram).sum() <= 1e-3 * row.count
    for place, features in found.features.items():
        assert features.count.tolist() == wanted.features[place].count.tolist()
        assert features.mean == pytest.approx(wanted.features[place].mean, rel=1e-4, abs=1e-7)
        assert features.variance == pytest.approx(
            wanted.features[place].variance, rel=1e-4, abs=1e-7
        )
    for place, heads in found.heads.items():
        assert heads.entropy == pytest.approx(wanted.heads[place].entropy, rel=1e-6)
    assert found.outliers is not None
    assert wanted.outliers is not None
    assert found.outliers.sentences.tolist() == wanted.outliers.sentences.tolist()


def test_comparing_without_torch(halves: tuple[Path, Path]) -> None:
    done = without_torch("compare", *halves)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Distance" in done.stdout
    assert "Outlier feature" in done.stdout


def test_what_cannot_be_merged(
    halves: tuple[Path, Path], whole: Path, model: LoadedModel, data: Path, tmp_path: Path
) -> None:
    made(model, data, tmp_path / "other", CorpusOptions(limit=3, modules="encoder.*"))
    with pytest.raises(
        UserError, match="it was made with another model than the first, or with other modules"
    ):
        merge_corpora([whole, tmp_path / "other"], "")
    made(model, data, tmp_path / "part", process=Process(1, 2))
    with pytest.raises(UserError, match="it is unfinished, unlike the others"):
        merge_corpora([whole, tmp_path / "part"], "")
    done = without_torch("corpus-merge", *halves, "-o", whole)
    assert done.returncode == 2
    assert "it is not empty, features.safetensors exists" in done.stderr


def test_a_corpus_is_read_as_it_was_written(whole: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    write_corpus(copy, read_corpus(whole))
    assert content(copy) == content(whole)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("manifest.json", b"{}"),
        ("manifest.json", b'{"schema": "bertviewer.corpus/1"}'),
        ("statistics.parquet", b"PAR1"),
        ("statistics.parquet", None),
        ("features.safetensors", b"\0" * 40),
        ("features.safetensors", None),
    ],
)
def test_a_strangers_folder(whole: Path, tmp_path: Path, name: str, bad: bytes | None) -> None:
    for file, found in content(whole).items():
        (tmp_path / file).write_bytes(found)
    if bad is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(bad)
    with pytest.raises(UserError, match=name):
        read_corpus(tmp_path)


def test_what_differs(halves: tuple[Path, Path]) -> None:
    left, right = (read_corpus(folder) for folder in halves)
    same = compare_corpora(left, left)
    assert {module.distance for module in same.modules} == {0.0}
    document = compare_corpora(left, right).to_json()
    assert document["schema"] == "bertviewer.corpus-comparison/1"
    distances = [module["distance"] for module in document["modules"]]
    assert distances == sorted(distances, reverse=True)
    assert 0 < distances[0] < 0.5
    assert (document["left"]["sentences"], document["right"]["sentences"]) == (90, 110)
    assert [one["feature"] for one in document["outlier_features"]] == [5]
    assert len(document["heads"]) == 8
