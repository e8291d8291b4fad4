"""The builder analyses a run once, and writes the report of a process without a window."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.progress import no_progress
from bertviewer.report import analysis
from bertviewer.report.builder import ReportBuilder
from bertviewer.report.drawing import draw_pictures
from bertviewer.report.formats.formats import format_of
from bertviewer.report.options import Options
from bertviewer.report.run_details import RunDetails
from bertviewer.report.subject import ReportInputs
from tests.report.reading import Report


def draw(*arguments: object) -> object:
    return draw_pictures(*arguments[:3])  # type: ignore[arg-type]


def test_other_layers_are_analysed_alone(
    demo_source: ModelSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, cache = open_model(demo_source), ActivationCache("units")
    run = RecordedRun(run_sentence(model, Sentence("one two"), cache=cache), cache)
    inputs = ReportInputs(demo_source, model.architecture, model.load_report, run)
    calls: list[str] = []
    shown: list[tuple[int | None, ...]] = []
    analyse_run, analyse_layers = analysis.analyse_run, analysis.analyse_layers

    def whole(*what: object, **choices: object) -> RunDetails:
        calls.append("run")
        return analyse_run(*what, **choices)  # type: ignore[arg-type]

    def layered(*what: object) -> RunDetails:
        details = analyse_layers(*what)  # type: ignore[arg-type]
        assert details.attention is not None
        shown.append(tuple(layer.number for layer in details.attention.shown))
        return details

    monkeypatch.setattr(analysis, "analyse_run", whole)
    monkeypatch.setattr(analysis, "analyse_layers", layered)
    builder = ReportBuilder(inputs, draw)  # type: ignore[arg-type]
    ends, last = Options(), Options(layers="5")
    assert builder.pending(ends) == ("weights", "run")
    for options in (ends, ends, last):
        if builder.pending(options):
            builder.analyse(options, model, no_progress)
        assert builder.pending(options) == ()
    assert builder.pending(ends) == ("run",)
    assert builder.pending(replace(ends, sections=("model",))) == ()
    assert (calls, shown) == (["run"], [(0, 5), (5,)])
    # Another run is analysed from the beginning.
    other = replace(inputs, run=RecordedRun(run.run, ActivationCache("units")))
    assert ReportBuilder(other, draw, builder).pending(last) == ("run",)  # type: ignore[arg-type]
    assert ReportBuilder(inputs, draw, builder).pending(last) == ()  # type: ignore[arg-type]


def test_a_report_of_the_model_alone(
    demo_source: ModelSource, qapp: QApplication, tmp_path: Path
) -> None:
    model, path = open_model(demo_source), tmp_path / "report.pdf"
    builder = ReportBuilder(ReportInputs(demo_source, model.with_formulas()), draw)  # type: ignore[arg-type]
    options = Options(sections=("parameters",))
    assert builder.write(path, format_of(path), options, (), model, no_progress) == path
    report = Report.of(path.read_bytes())
    assert "encoder BertEncoder 10,646,784 46.87%" in report.text
    assert report.headings()[0] == "1 Parameters"
