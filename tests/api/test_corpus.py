"""A corpus has the statistics of its runs, and the files that the command writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertviewer
from bertviewer.app import main
from tests.api.conftest import LINES

SELF = "encoder.layer.1.attention.self"


def test_files_are_those_of_the_command(
    corpus: bertviewer.Corpus, tiny_bert_folder: Path, tmp_path: Path, data: Path
) -> None:
    again = tmp_path / "out"
    command = ("corpus", str(tiny_bert_folder), str(data), "-o", str(again), "--batch-size", "2")
    assert main(command) == 0
    for file in corpus.folder.iterdir():
        assert (again / file.name).read_bytes() == file.read_bytes(), file.name
    assert corpus.to_json()["command"].endswith("lines.txt -o out --task base --batch-size=2")
    assert (corpus.sentences, corpus.tokens, corpus.is_random) == (3, 17, False)


def test_statistics_and_quantiles_are_those_of_all_runs(
    corpus: bertviewer.Corpus, model: bertviewer.Model
) -> None:
    rows = corpus.statistics(quantiles=(0.5,))
    runs = [model.run(line) for line in LINES.split("\n") if line]
    for row in rows:
        gave = [next(iter(run.values(row["path"], call=row["call"]).gave.values())) for run in runs]
        values = np.concatenate([array.ravel() for array in gave]).astype(np.float64)
        assert row["count"] == len(values)
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-6)
        assert row["std"] == pytest.approx(values.std(), abs=1e-6)
        low, high = (np.quantile(values, 0.5, method=way) for way in ("lower", "higher"))
        # The width of a bin.
        assert low - 0.25 * abs(low) <= row["q50"] <= high + 0.25 * abs(high)
    by_class = corpus.statistics(by_class=True)
    assert {row["tokens"] for row in by_class} >= {"content", "cls", "sep", "sentence"}
    for path in ("", "pooler"):
        counts = [row["count"] for row in by_class if row["path"] == path]
        assert sum(counts) == next(row["count"] for row in rows if row["path"] == path)


def test_arrays(corpus: bertviewer.Corpus, model: bertviewer.Model) -> None:
    features = corpus.features("embeddings")
    assert {name: array.shape for name, array in features.items()} == dict.fromkeys(
        ("count", "mean", "variance", "min", "max"), (32,)
    )
    histogram = corpus.histogram("embeddings")
    assert histogram.counts.sum() == features["count"].sum()
    assert len(histogram.edges) == len(histogram.counts) + 1
    assert {path["path"] for path in corpus.attentions()} >= {SELF}
    for name, array in corpus.heads(1).items():
        assert array.shape == (4,)
        assert np.array_equal(array, corpus.heads(SELF)[name])
    assert all(row["share"] >= 0.05 for row in corpus.outlier_features())
    # Dropout returns its input.
    assert np.array_equal(corpus.features("embeddings.dropout")["mean"], features["mean"])
    assert model.architecture.root.class_name in corpus._repr_html_()


@pytest.mark.usefixtures("_drawn_here")
def test_figures(
    corpus: bertviewer.Corpus, tiny_bert_folder: Path, data: Path, tmp_path: Path
) -> None:
    model = bertviewer.open(tiny_bert_folder / "config.json")
    random = model.corpus(data, folder=tmp_path / "out", random_weights=True)
    assert random.is_random
    assert "(random weights)" in random._repr_html_()
    for name in ("layers", "heads", "histogram"):
        figure = corpus.figure(name, measure="distance")
        assert figure.save(tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
        assert figure.csv().count("\n") > 1
        assert "random weights" in random.figure(name).csv().partition("\n")[0]


def test_an_opened_corpus(corpus: bertviewer.Corpus, model: bertviewer.Model) -> None:
    again = bertviewer.open_corpus(corpus.folder)
    assert again.statistics() == corpus.statistics()
    assert again.attentions() == corpus.attentions()
    assert again.summary() == corpus.summary()
    with pytest.raises(bertviewer.Error, match="this needs the model of the corpus"):
        again.figure("layers")
    assert bertviewer.open_corpus(corpus.folder, model).figure("layers").csv()
    with pytest.raises(bertviewer.Error, match="made with another model"):
        bertviewer.open_corpus(corpus.folder, bertviewer.open("gpt2"))
    # As in a process of torchrun that is not the first one.
    assert bertviewer.Corpus(corpus.folder).sentences == 3
    with pytest.raises(bertviewer.Error, match="No such file"):
        _ = bertviewer.Corpus(corpus.folder / "nothing").sentences


def test_a_comparison_of_two_corpora(
    corpus: bertviewer.Corpus,
    model: bertviewer.Model,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = model.corpus(data, folder=tmp_path / "other", limit=1)
    found = bertviewer.compare(corpus, other.folder)
    assert found.to_json() == corpus.compare(other).to_json()
    assert main(["compare", str(corpus.folder), str(other.folder), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.to_json()
    assert main(["compare", str(corpus.folder), str(other.folder)]) == 0
    assert capsys.readouterr().out == f"{found.summary()}\n"
    first = found.modules()[0]
    rows = {(row["path"], row["call"]): row for row in other.statistics()}
    row = rows[first["path"], first["call"]]
    assert (first["right_q50"], first["right_mean"]) == (row["q50"], row["mean"])
    assert {"left_entropy", "right_entropy"} <= set(found.heads()[0])
    assert "3 sentences → " in found._repr_html_()
    for table in (found.modules(), found.heads(), found.outlier_features(), corpus.statistics()):
        assert len({tuple(row) for row in table}) <= 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.heads(7), "no attention 7"),
        (lambda c: c.heads("pooler"), "no attention 'pooler'"),
        (lambda c: c.features("poler"), "^poler was not measured"),
        (lambda c: c.features("pooler", call=3), "call 3 of pooler was not measured"),
        (lambda c: c.figure("nothing"), "no figure 'nothing'"),
        (lambda c: c.figure("heads", measure="next"), "no measure 'next'"),
        (lambda c: c.statistics(quantiles=(5,)), "must be from 0 to 1"),
        (lambda c: bertviewer.compare(c, "demo"), "demo: not a corpus"),
        (lambda c: bertviewer.open_corpus("nothing"), "nothing"),
    ],
)
def test_unknown_names_and_numbers(corpus: bertviewer.Corpus, call: Any, words: str) -> None:
    with pytest.raises(bertviewer.Error, match=words):
        call(corpus)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limit": 0}, "--limit is 0"),
        ({"device": "cuda:97"}, "no device 'cuda:97' here"),
        ({"modules": "nothing"}, "no module with such a path"),
    ],
)
def test_wrong_options(
    model: bertviewer.Model, data: Path, tmp_path: Path, options: Any, words: str
) -> None:
    with pytest.raises(bertviewer.Error, match=words):
        model.corpus(data, folder=tmp_path / "out", **options)


def test_wrong_data_and_folders(
    model: bertviewer.Model, corpus: bertviewer.Corpus, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(bertviewer.Error, match="give a file of sentences"):
        model.corpus(folder=tmp_path / "out")
    with pytest.raises(TypeError, match="unexpected keyword argument 'limt'"):
        model.corpus(data, folder=tmp_path / "out", limt=1)  # type: ignore[call-arg]
    with pytest.raises(bertviewer.Error, match="already holds another corpus"):
        model.corpus(data, folder=corpus.folder, limit=1)
