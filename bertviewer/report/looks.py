"""What is calculated of a run for its report, as plain data."""

from collections.abc import Mapping

from msgspec import Struct, field

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import AttentionMaps, HeadMeasures, RankedHead
from bertviewer.core.analysis.padding import Padding
from bertviewer.core.analysis.predictions import Predictions
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.schema.activation_run import ActivationRun, TensorKey
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.statistics.histograms import Histogram
from bertviewer.core.tensors.reduction import Corner


class SeenHeads(Struct, frozen=True, eq=False):
    """What the heads of a run look at: figures of all, and the maps of a few.

    The maps of all layers take hundreds of megabytes where a model is large.

    Attributes:
        figures: of each attention, in the order of the attentions.
        shown: those that are shown whole.
        large: the head that is shown large.
        maps: of the first attention, of those that are shown, and of the large head's.
    """

    figures: Mapping[AttentionLayer, HeadMeasures] = field(default_factory=dict)
    shown: tuple[AttentionLayer, ...] = ()
    large: RankedHead | None = None
    maps: Mapping[AttentionLayer, AttentionMaps] = field(default_factory=dict)


class SeenModule(Struct, frozen=True, eq=False):
    """Numbers that a module took and gave; ``title`` says which of the model's steps it is."""

    title: str
    path: str
    corners: tuple[tuple[TensorKey, Corner], ...]


class ComparedElement(Struct, frozen=True):
    """The element of a step of a check in which given and recomputed differ the most.

    ``index`` is its place in the tensor, ``place`` what is there in words, "" if that is unknown.
    """

    step: CheckStep
    index: tuple[int, ...]
    place: str
    given: float
    recomputed: float
    difference: float
    tolerance: float


class Beside(Struct, frozen=True, eq=False):
    """What is calculated of run A, to stand beside the run that the report is about.

    Attributes:
        run: run A.
        heads: those that changed the most, by the mean |B − A| of what they give, most first.
        maps: B's and A's maps of the first of these.
        predictions: what the model predicts in A, by the place in B.
    """

    run: ActivationRun
    heads: tuple[RankedHead, ...] = ()
    maps: tuple[AttentionMaps, AttentionMaps] | None = None
    predictions: Mapping[int, Predictions] = field(default_factory=dict)


class Looks(Struct, frozen=True, eq=False):
    """All that is calculated of a run by the core's closer looks.

    Attributes:
        heads: what the heads look at; ``None`` where no attention shows that.
        predictions: what the model predicts at the places of most interest.
        histogram: how the elements of the model's output are spread.
        padding: what padding the sentence does to it, with the mask and without.
        sentences: the two sentences as one vector each, where there are two.
        values: what some modules took and gave.
        compared: where a check's steps differ the most, the nearest to their tolerance first.
        beside: run A, where there is one.
    """

    heads: SeenHeads | None = None
    predictions: tuple[Predictions, ...] = ()
    histogram: Histogram | None = None
    padding: Padding | None = None
    sentences: SentenceComparison | None = None
    values: tuple[SeenModule, ...] = ()
    compared: tuple[ComparedElement, ...] = ()
    beside: Beside | None = None
