"""What a report is about, as plain data: a model, and what is known of it and of its runs."""

from functools import cached_property

from msgspec import Struct, field

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.comparison.comparison import Comparison
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_folder import Origin
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.walkthrough import Walkthrough
from bertviewer.report.looks import Looks

STATISTIC = "std"
"""What is drawn layer by layer where nothing else was chosen."""


class Subject(Struct, frozen=True, eq=False, dict=True):
    """All that a report can tell of.

    Attributes:
        architecture: the model, with its formulas where they are derived.
        run: what one sentence did to it; ``None`` for a report of the model alone.
        other: run A, to compare ``run`` with.
        looks: what was calculated of ``run``.
        keys: what the checkpoint holds of the model.
        comparison: the model beside another one.
        origin: where its weights come from.
        statistic: what is drawn layer by layer.
        corpus: what the model does to many sentences.
    """

    architecture: Architecture
    run: ActivationRun | None = None
    other: ActivationRun | None = None
    looks: Looks = field(default_factory=Looks)
    keys: LoadReport | None = None
    comparison: Comparison | None = None
    origin: Origin = Origin()
    statistic: str = STATISTIC
    corpus: Corpus | None = None

    @cached_property
    def walkthrough(self) -> Walkthrough:
        """The walkthrough of the model, which several chapters use."""
        return build_walkthrough(self.architecture, self.run)
