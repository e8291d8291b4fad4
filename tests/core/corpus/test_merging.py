"""Corpora become one: of shards in several folders, and of several runs, without torch."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bertviewer.core.corpus.comparison import compare_corpora
from bertviewer.core.corpus.making import Process
from bertviewer.core.corpus.merging import DIFFERS, merge_corpora
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.reading import read_corpus
from bertviewer.core.corpus.writing import check_new, write_corpus
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


def without_torch(*arguments: str | Path) -> str:
    """Run a command of the program in a process without torch; return its output."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


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
    (tmp_path / "all").mkdir()
    write_corpus(tmp_path / "all", merge_corpora(parts, ""))
    merged, wanted = content(tmp_path / "all"), content(whole)
    del merged["manifest.json"], wanted["manifest.json"]
    assert merged == wanted


def test_finished_corpora(halves: tuple[Path, Path], whole: Path, tmp_path: Path) -> None:
    output = without_torch("corpus-merge", *halves, "-o", tmp_path / "all")
    assert output.splitlines()[1].startswith("200 sentences · ")
    found, wanted = read_corpus(tmp_path / "all"), read_corpus(whole)
    assert found.call_keys == wanted.call_keys
    for row, other in zip(found.rows, wanted.rows, strict=True):
        assert (row.key, row.token_class, row.count) == (other.key, other.token_class, other.count)
        assert row.squares == pytest.approx(other.squares, rel=1e-6)
        assert np.abs(row.histogram - other.histogram).sum() <= 1e-3 * row.count
    for key, features in found.features.items():
        expected = wanted.features[key]
        assert features.count.tolist() == expected.count.tolist()
        assert features.mean == pytest.approx(expected.mean, rel=1e-4, abs=1e-7)
        assert features.variance == pytest.approx(expected.variance, rel=1e-4, abs=1e-7)
    for key, heads in found.heads.items():
        assert heads.entropy == pytest.approx(wanted.heads[key].entropy, rel=1e-6)
    assert found.outliers is not None
    assert wanted.outliers is not None
    assert found.outliers.sentences.tolist() == wanted.outliers.sentences.tolist()


def test_a_corpus_is_written_as_it_was_read(whole: Path, tmp_path: Path) -> None:
    write_corpus(tmp_path, read_corpus(whole))
    assert content(tmp_path) == content(whole)


def test_versions_and_options_that_differ(small: Path, tmp_path: Path) -> None:
    for name, found in content(small).items():
        (tmp_path / name).write_bytes(found)
    document = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    document["versions"]["torch"] = "1.0"
    document["choices"]["max_tokens"] = 7
    (tmp_path / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
    manifest = merge_corpora([small, tmp_path], "again").manifest
    assert (manifest["versions"]["torch"], manifest["choices"]["max_tokens"]) == (DIFFERS,) * 2
    assert manifest["choices"]["limit"] == 9
    assert manifest["command"] == "again"


def test_corpora_that_cannot_be_merged(
    small: Path, whole: Path, model: LoadedModel, data: Path, tmp_path: Path
) -> None:
    made(model, data, tmp_path / "other", CorpusOptions(limit=3, modules="encoder.*"))
    made(model, data, tmp_path / "part", process=Process(1, 2))
    (tmp_path / "empty").mkdir()
    link = tmp_path / "link"
    link.symlink_to(small)
    for folders, message in (
        ([], "nothing to merge"),
        ([small, link], "it would be counted twice"),
        ([tmp_path / "empty"], r"shards: No such file"),
        ([whole, tmp_path / "other"], "with another model than the first, or with other modules"),
        ([whole, tmp_path / "part"], "it is unfinished, unlike the others"),
    ):
        with pytest.raises(UserError, match=message):
            merge_corpora(folders, "")
    with pytest.raises(UserError, match=r"it is not empty, features\.safetensors exists"):
        check_new(whole)


def test_comparison(halves: tuple[Path, Path]) -> None:
    output = without_torch("compare", *halves)
    assert "Distance" in output
    assert "Outlier feature" in output
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
