"""What a report takes of a run is looked at once, and other layers alone when these are chosen."""

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.progress import no_progress
from bertviewer.report import looking
from bertviewer.report.choices import Choices
from bertviewer.report.looks import Looks
from bertviewer.ui.export.drawer import Drawer
from bertviewer.ui.export.maker import Order, ReportMaker
from bertviewer.ui.export.report_inputs import Material


def test_other_layers_are_looked_at_alone(
    demo_source: ModelSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, kept = open_model(demo_source), ActivationCache("units")
    run = run_sentence(model, Sentence("one two"), cache=kept)
    watched = RecordedRun(run, kept)
    material = Material(
        demo_source, model.architecture, model.load_report, watched, None, None, (), None, "std"
    )
    found: list[Looks] = []
    shown: list[tuple[int | None, ...]] = []
    look, of_layers = looking.looked_at, looking.of_layers

    def looked(*what: object, **choices: object) -> Looks:
        found.append(look(*what, **choices))  # type: ignore[arg-type]
        return found[-1]

    def layered(*what: object) -> Looks:
        looks = of_layers(*what)  # type: ignore[arg-type]
        assert looks.heads is not None
        shown.append(tuple(layer.number for layer in looks.heads.shown))
        return looks

    monkeypatch.setattr(looking, "looked_at", looked)
    monkeypatch.setattr(looking, "of_layers", layered)
    maker = ReportMaker(material, Drawer())
    ends, last = (Order(Choices(), layers) for layers in (None, (5,)))
    assert maker.unseen(ends) == ("weights", "run")
    for order in (ends, ends, last):
        maker.look(order, model, no_progress)
        assert maker.unseen(order) == ()
    assert maker.unseen(ends) == ("run",)
    assert (len(found), shown) == (1, [(0, 5), (5,)])
    # Another run is looked at from the beginning.
    again = replace(material, watched=RecordedRun(run, kept))
    assert ReportMaker(again, Drawer(), maker).unseen(last) == ("run",)
    assert ReportMaker(material, Drawer(), maker).unseen(last) == ()
