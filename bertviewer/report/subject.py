"""What a report is about, as plain data: a model, and what is known of it and of its runs."""

from collections.abc import Mapping
from dataclasses import field

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.histogram_data import Histogram
from bertviewer.core.analysis.padding import Padding
from bertviewer.core.analysis.prediction_data import Predictions
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.comparing.comparison import Comparison
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.frozen import frozen
from bertviewer.core.source.origin import Origin
from bertviewer.core.weights.keys import KeyReport

STATISTIC = "std"
"""What is drawn layer by layer where nothing else was chosen."""


@frozen(eq=False)
class Looks:
    """What is calculated of a run for its report, by the core's closer looks.

    Attributes:
        attentions: what the heads of each attention look at, in the order of the attentions.
        predictions: what the model predicts at the places of most interest.
        histogram: how the elements of the model's output are spread.
        padding: what padding the sentence does to it, with the mask and without.
        sentences: the two sentences as one vector each, where there are two.
    """

    attentions: Mapping[AttentionLayer, AttentionMaps] = field(default_factory=dict)
    predictions: tuple[Predictions, ...] = ()
    histogram: Histogram | None = None
    padding: Padding | None = None
    sentences: SentenceComparison | None = None


@frozen(eq=False)
class Subject:
    """All that a report can tell of.

    Attributes:
        architecture: the model, with its formulas where they are derived.
        run: what one sentence did to it; ``None`` for a report of the model alone.
        other: run A, to compare ``run`` with.
        looks: what was calculated of ``run``.
        keys: what the checkpoint holds of the model.
        comparison: the model beside another one.
        origin: where its weights come from.
        layers: the layers whose attention is shown, counted from 0; ``None`` for a choice of some.
        statistic: what is drawn layer by layer.
        corpus: what the model does to many sentences.
    """

    architecture: Architecture
    run: ActivationRun | None = None
    other: ActivationRun | None = None
    looks: Looks = field(default_factory=Looks)
    keys: KeyReport | None = None
    comparison: Comparison | None = None
    origin: Origin = Origin()
    layers: tuple[int, ...] | None = None
    statistic: str = STATISTIC
    corpus: Corpus | None = None
