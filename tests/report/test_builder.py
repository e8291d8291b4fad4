"""The builder reuses an analysis while runs and options allow it."""

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Check
from bertviewer.core.util.progress import no_progress
from bertviewer.report import analysis
from bertviewer.report.builder import ReportBuilder
from bertviewer.report.drawing import draw_pictures
from bertviewer.report.options import Options
from bertviewer.report.subject import ReportInputs
from tests.report.conftest import recorded


def draw(*arguments: object) -> object:
    return draw_pictures(*arguments[:3])  # type: ignore[arg-type]


def test_a_run_is_analysed_once_and_other_layers_alone(
    demo_model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded(demo_model, Sentence("one two"))
    source = demo_model.source
    inputs = ReportInputs(source, demo_model.architecture, demo_model.load_report, run)
    builder = ReportBuilder(inputs, draw)  # type: ignore[arg-type]
    ends, last = Options(), Options(layers="5")
    assert builder.pending(ends) == ("weights", "run")
    builder.analyse(ends, demo_model, no_progress)
    monkeypatch.setattr(analysis, "analyse_run", None)  # it is not called again
    for options in (last, ends):
        assert builder.pending(options) == ("run",)
        builder.analyse(options, demo_model, no_progress)
        assert builder.pending(options) == ()
    assert builder.pending(replace(last, sections=("model",))) == ()

    def pending(changed: ReportInputs) -> tuple[str, ...]:
        """Return what a builder for other inputs has to do again."""
        return ReportBuilder(changed, draw, builder).pending(ends)  # type: ignore[arg-type]

    assert pending(inputs) == ()
    checked = replace(run, run=replace(run.run, check=Check(())))
    other = RecordedRun(run.run, ActivationCache("units"))
    for changed in (replace(inputs, run=checked), replace(inputs, run=other)):
        assert pending(changed) == ("run",)
    assert pending(replace(inputs, baseline=run)) == ("run",)
    assert pending(replace(inputs, run=None)) == ()
