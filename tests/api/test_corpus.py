"""A corpus as a script reads it: what it says is what its files and the commands say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertviewer
from bertviewer.api.drawing import drawing_here
from bertviewer.app import main
from bertviewer.core.corpus.reading import read_corpus

LINES = "this is a test\nthe cat sat on the mat\n\nthis\n"
SELF = "encoder.layer.1.attention.self"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of sentences."""
    file = tmp_path_factory.mktemp("data") / "lines.txt"
    file.write_text(LINES, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def corpus(model: bertviewer.Model, data: Path) -> bertviewer.Corpus:
    """Return a corpus of three sentences."""
    return model.corpus(data, folder=data.parent / "out", batch_size=2, modules="*")


def test_it_is_what_the_command_writes(
    corpus: bertviewer.Corpus, tiny_bert_folder: Path, tmp_path: Path, data: Path
) -> None:
    again = tmp_path / "out"
    command = ("corpus", str(tiny_bert_folder), str(data), "-o", str(again), "--batch-size", "2")
    assert main(command) == 0
    for file in corpus.folder.iterdir():
        assert (again / file.name).read_bytes() == file.read_bytes(), file.name
    assert corpus.to_json()["command"].endswith("lines.txt -o out --task base --batch-size=2")
    assert (corpus.sentences, corpus.tokens, corpus.is_random) == (3, 17, False)


def test_statistics_and_quantiles(corpus: bertviewer.Corpus, model: bertviewer.Model) -> None:
    rows = corpus.statistics(quantiles=(0.5,))
    assert len({tuple(row) for row in rows}) == 1
    runs = [model.run(line) for line in LINES.split("\n") if line]
    for row in rows:
        gave = [next(iter(run.values(row["path"], call=row["call"])[1].values())) for run in runs]
        values = np.concatenate([array.ravel() for array in gave]).astype(np.float64)
        assert row["count"] == len(values)
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-6)
        assert row["std"] == pytest.approx(values.std(), abs=1e-6)
        low, high = (
            np.quantile(values, 0.5, method="lower"),
            np.quantile(values, 0.5, method="higher"),
        )
        # No farther off than a bin is wide.
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
    for row in corpus.outlier_features():
        assert row["share"] >= 0.05
    # A dropout hands on what it takes.
    assert np.array_equal(corpus.features("embeddings.dropout")["mean"], features["mean"])
    assert model.architecture.root.class_name in corpus._repr_html_()


@pytest.mark.usefixtures("_drawn_here")
@pytest.mark.parametrize("name", ["layers", "heads", "histogram"])
def test_figures(corpus: bertviewer.Corpus, name: Any, tmp_path: Path) -> None:
    figure = corpus.figure(name, measure="distance")
    assert figure.save(tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    assert figure.csv().count("\n") > 1


@pytest.mark.usefixtures("_drawn_here")
def test_figures_say_that_weights_are_random(
    tiny_bert_folder: Path, data: Path, tmp_path: Path
) -> None:
    model = bertviewer.open(tiny_bert_folder / "config.json")
    found = model.corpus(data, folder=tmp_path / "out", random_weights=True)
    assert found.is_random
    assert "(random weights)" in found._repr_html_()
    for name in ("layers", "heads", "histogram"):
        assert "random weights" in found.figure(name).csv().partition("\n")[0]


def test_a_corpus_that_is_opened(corpus: bertviewer.Corpus, model: bertviewer.Model) -> None:
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


@pytest.mark.usefixtures("qapp")
def test_a_report_of_it(corpus: bertviewer.Corpus, model: bertviewer.Model, tmp_path: Path) -> None:
    files = []
    every: tuple[bertviewer.Corpus | Path | str, ...] = (corpus, corpus.folder, str(corpus.folder))
    for number, given in enumerate(every):
        (tmp_path / str(number)).mkdir()
        with drawing_here():
            file = model.report(tmp_path / str(number) / "a.json", corpus=given)
        files.append(file.read_bytes())
    assert files[0] == files[1] == files[2]
    assert f"--corpus={corpus.folder}" in json.loads(files[0])["front"]["facts"][-1][1][0]["text"]


def test_two_of_them(
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
    places = {(row["path"], row["call"]): row for row in other.statistics()}
    row = places[first["path"], first["call"]]
    assert first["right_q50"] == row["q50"]
    assert first["right_mean"] == row["mean"]
    assert {"left_entropy", "right_entropy"} <= set(found.heads()[0])
    assert "3 sentences → " in found._repr_html_()
    tables = (found.modules(), found.heads(), found.outlier_features(), corpus.statistics())
    assert all(len({tuple(row) for row in rows}) <= 1 for rows in tables)


@pytest.mark.parametrize(
    ("ask", "words"),
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
def test_what_there_is_not(corpus: bertviewer.Corpus, ask: Any, words: str) -> None:
    with pytest.raises(bertviewer.Error, match=words):
        ask(corpus)


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"limit": 0}, "--limit is 0"),
        ({"device": "cuda:97"}, "no device 'cuda:97' here"),
        ({"modules": "nothing"}, "no module with such a path"),
    ],
)
def test_what_is_refused(
    model: bertviewer.Model, data: Path, tmp_path: Path, wishes: Any, words: str
) -> None:
    with pytest.raises(bertviewer.Error, match=words):
        model.corpus(data, folder=tmp_path / "out", **wishes)
    with pytest.raises(bertviewer.Error, match="give a file of sentences"):
        model.corpus(folder=tmp_path / "out")
    with pytest.raises(TypeError, match="unexpected keyword argument 'limt'"):
        model.corpus(data, folder=tmp_path / "out", limt=1)  # type: ignore[call-arg]
    with pytest.raises(bertviewer.Error, match="already holds another corpus"):
        model.corpus(data, folder=read_only_of(data), limit=1)


def read_only_of(data: Path) -> Path:
    """Return the folder of the corpus of all lines."""
    folder = data.parent / "out"
    assert read_corpus(folder).sentences == 3
    return folder
