"""What a report is about: the inputs that a user has, and the data that its chapters read."""

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.explain import explanation
from bertviewer.core.explain.answers import answers_for_section
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_folder import Origin
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.walkthrough import Walkthrough
from bertviewer.report.blocks import Answer
from bertviewer.report.options import STATISTIC
from bertviewer.report.run_details import OtherModelDetails, RunDetails

if TYPE_CHECKING:
    from bertviewer.core.comparison.comparison import Comparison
    from bertviewer.core.corpus.corpus import Corpus


MAX_ANSWERS = 2
"""Answers in a section; the window has all of them."""


class ReportInputs(Struct, frozen=True, eq=False):
    """A model and its runs, before anything is calculated for a report.

    Attributes:
        source: the model.
        architecture: its modules; formulas may be missing.
        load_report: how its checkpoint fits it.
        run: the run to report, with its merged check.
        baseline: run A, which ``run`` is compared with.
        checked: modules that were verified one by one.
        is_all_checked: whether the whole run was verified.
        comparison: the comparison with another model.
        compared: the models of ``comparison``, apart from ``source``.
        corpus: the corpus of ``Options.corpus``; ``None`` if it is still to be read.
    """

    source: ModelSource
    architecture: Architecture
    load_report: LoadReport | None = None
    run: RecordedRun | None = None
    baseline: RecordedRun | None = None
    checked: tuple[str, ...] = ()
    is_all_checked: bool = False
    comparison: "Comparison | None" = None
    compared: tuple[ModelSource, ...] = ()
    corpus: "Corpus | None" = None

    @property
    def can_replay(self) -> bool:
        """Whether there is a run with an activation cache."""
        return self.run is not None and self.run.capture is not None

    @property
    def layer_count(self) -> int:
        """The number of layers that can be shown: of the longest stack, calls counted apart."""
        if self.run is None or not self.can_replay:
            return 0
        run = self.run.run
        series = [len(tuple(each.points())) for each in layer_series(self.architecture, run)]
        numbers = [layer.number for layer in attention_layers(self.architecture, run)]
        return max(0, *series, *(number + 1 for number in numbers if number is not None), 0)


class Subject(Struct, frozen=True, eq=False, dict=True):
    """The data of a report's chapters.

    Attributes:
        architecture: the model, with its formulas where they were derived.
        run: the run; ``None`` for a report on the model alone.
        baseline: run A, which ``run`` is compared with.
        details: what was calculated from ``run``.
        load_report: how the checkpoint fits the model.
        comparison: the comparison with another model.
        other_model: the run's sentence in that model.
        origin: where the weights come from.
        statistic: the statistic to plot by layer.
        corpus: statistics of the model over many sentences.
        sections: the chosen chapters; ``None`` for all that apply.
        is_folded: whether the lists of the appendix show identical layers once.
    """

    architecture: Architecture
    run: ActivationRun | None = None
    baseline: ActivationRun | None = None
    details: RunDetails = field(default_factory=RunDetails)
    load_report: LoadReport | None = None
    comparison: "Comparison | None" = None
    other_model: OtherModelDetails | None = None
    origin: Origin = Origin()
    statistic: str = STATISTIC
    corpus: "Corpus | None" = None
    sections: tuple[str, ...] | None = None
    is_folded: bool = True

    @cached_property
    def walkthrough(self) -> Walkthrough:
        """The walkthrough of the model."""
        return build_walkthrough(self.architecture, self.run)

    def has_chapter(self, name: str) -> bool:
        """Return whether a chapter is chosen, so that others may refer to its tables."""
        return self.sections is None or name in self.sections

    def answers(self, section: explanation.Section) -> tuple[Answer, ...]:
        """Return the most useful answers about a subject that apply to the model and the run.

        These are the first with a measurement of the run, and at most one without.
        """
        details = self.details
        heads = None if details.attention is None else details.attention.measures
        found = answers_for_section(
            section, self.architecture, self.run, heads, details.predictions
        )
        measured = tuple(each for each in found if each.measured)
        general = tuple(each for each in found if not each.measured)
        return tuple(
            Answer(each.question, each.text, each.measured, each.source)
            for each in (*measured, *general[:1])[:MAX_ANSWERS]
        )
