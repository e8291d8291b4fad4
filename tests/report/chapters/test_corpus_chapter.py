"""The chapter on the statistics of a corpus."""

from pathlib import Path

import pytest

from bertviewer.charts.chart import GridChart, HistogramChart, LineChart
from bertviewer.core.corpus.making import CorpusRequest, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.report.chapters.corpus import corpus
from bertviewer.report.subject import Subject
from tests.report.reading import drafted, rows, table, words


def test_the_chapter_shows_the_data_of_the_corpus(tiny_bert_folder: Path, tmp_path: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    data = tmp_path / "lines.txt"
    data.write_text("this is a test\nthe cat sat on the mat\n\n", encoding="utf-8")
    request = CorpusRequest((data,), CorpusOptions(), tmp_path / "out", "")
    found = make_corpus(model, request, no_progress)
    assert found is not None
    assert corpus(Subject(model.architecture)) is None
    subject = Subject(model.architecture, corpus=found)
    draft, section = corpus(subject), drafted(corpus, subject)
    assert draft is not None
    layers, heads, values = (
        draft.pictures[f"corpus-{name}"].drawn for name in ("layers", "entropy", "values")
    )

    text = words(section)
    assert f"2 sentences with {found.tokens} tokens" in text
    assert "1 line could not be read" in text
    assert found.manifest["data"][0]["sha256"] in text

    assert isinstance(layers, LineChart)
    (line,) = layers.lines
    last, output = found.of("encoder.layer.1"), found.of("")
    assert last is not None
    assert output is not None
    assert line.low is not None
    assert line.high is not None
    quantiles = (line.low[1], line.values[1], line.high[1])
    assert quantiles == last.quantiles((0.05, 0.5, 0.95))
    assert len(rows(table(section, "corpus-layers"))) == 2

    # The lowest and the highest 0.1% are left out.
    assert isinstance(values, HistogramChart)
    assert sum(values.series[0].counts) == pytest.approx(0.998 * output.count, rel=0.01)

    assert isinstance(heads, GridChart)
    entropies = [each.entropy for each in found.heads.values()]
    assert heads.values.tolist() == [each.tolist() for each in entropies]
    title, highest, _, lowest, _ = rows(table(section, "corpus-heads"))[0]
    assert title == "Entropy (nats)"
    assert float(highest) == pytest.approx(max(map(max, entropies)), rel=1e-4)
    assert float(lowest) == pytest.approx(min(map(min, entropies)), rel=1e-4)
