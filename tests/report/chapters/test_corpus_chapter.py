"""The chapter on many sentences."""

from pathlib import Path

import pytest

from bertviewer.charts.chart import GridChart, HistogramChart, LineChart
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.making import CorpusRequest, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.report.chapters.corpus import corpus
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject
from tests.report.reading import rows, said, table


@pytest.fixture(scope="module")
def model(tiny_bert_folder: Path) -> LoadedModel:
    return open_model(parse_source(str(tiny_bert_folder)))


@pytest.fixture(scope="module")
def many(model: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    place = tmp_path_factory.mktemp("corpus")
    data = place / "lines.txt"
    data.write_text("this is a test\nthe cat sat on the mat\n\n", encoding="utf-8")
    found = make_corpus(
        model, CorpusRequest((data,), CorpusOptions(), place / "out", ""), no_progress
    )
    assert found is not None
    return found


@pytest.fixture(scope="module")
def drafted(model: LoadedModel, many: Corpus) -> ChapterDraft:
    found = corpus(Subject(model.architecture, corpus=many))
    assert found is not None
    return found


def test_what_was_run(drafted: ChapterDraft, many: Corpus) -> None:
    words = said(drafted.section)
    assert f"2 sentences with {many.tokens} tokens" in words
    assert "1 line could not be read" in words
    assert many.manifest["data"][0]["sha256"] in words


def test_layers(drafted: ChapterDraft, many: Corpus) -> None:
    chart = drafted.pictures["corpus-layers"].drawn
    assert isinstance(chart, LineChart)
    (line,) = chart.lines
    found = many.of("encoder.layer.1")
    assert found is not None
    assert line.low is not None
    assert line.high is not None
    assert (line.low[1], line.values[1], line.high[1]) == found.quantiles((0.05, 0.5, 0.95))
    assert len(rows(table(drafted.section, "corpus-layers"))) == 2


def test_values(drafted: ChapterDraft, many: Corpus) -> None:
    chart = drafted.pictures["corpus-values"].drawn
    assert isinstance(chart, HistogramChart)
    found = many.of("")
    assert found is not None
    assert sum(chart.series[0].counts) == pytest.approx(0.998 * found.count, rel=0.01)


def test_heads(drafted: ChapterDraft, many: Corpus) -> None:
    chart = drafted.pictures["corpus-entropy"].drawn
    assert isinstance(chart, GridChart)
    wanted = [heads.entropy.tolist() for heads in many.heads.values()]
    assert chart.values.tolist() == wanted
    first = rows(table(drafted.section, "corpus-heads"))[0]
    assert first[0] == "Entropy (nats)"


def test_without_a_corpus(model: LoadedModel) -> None:
    assert corpus(Subject(model.architecture)) is None
