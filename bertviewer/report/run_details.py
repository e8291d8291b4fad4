"""Details of a run that a report shows, as plain data, and the context they are calculated in."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
from bertviewer.core.analysis.attention_maps import (
    AttentionMaps,
    HeadKind,
    HeadMeasures,
    RankedHead,
)
from bertviewer.core.analysis.padding import Padding
from bertviewer.core.analysis.predictions import Predictions
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation, TensorKey
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.statistics.histograms import Histogram
from bertviewer.core.tensors.inside_layer import InsideLayer
from bertviewer.core.tensors.reduction import Corner
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.report.flow_text import check_path

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.replay.cached_run import CachedRun

FROM_FILE = "this run was loaded from a file; for details, open its model and run it again"


class RunContext(Struct, frozen=True, eq=False):
    """A recorded run, its model and a progress callback, to replay parts of the run.

    Its methods raise ``UserError`` if the model does not allow it or the run was loaded from a
    file, and ``Cancelled`` by ``progress``.
    """

    model: "LoadedModel"
    recorded: RecordedRun
    progress: Progress

    @property
    def run(self) -> ActivationRun:
        """Statistics and tokens."""
        return self.recorded.run

    @property
    def cached(self) -> "CachedRun":
        """The run with its activation cache."""
        if self.recorded.capture is None:
            raise UserError(FROM_FILE)
        return self.recorded.cached(self.model)

    @property
    def attention_layers(self) -> tuple[AttentionLayer, ...]:
        """The attention modules that the run called."""
        return attention_layers(self.model.architecture, self.run)

    def check_path(self, path: str) -> None:
        """Check that the model has a module at ``path``."""
        nodes = [node.path for node in self.model.architecture.modules]
        check_path(path, nodes, self.model.source.name)

    def called(self, path: str, call: int = 0) -> ModuleActivation:
        """Return the statistics of a module that was called at least this often."""
        self.check_path(path)
        found, name = self.run.activation(path), path or "the model"
        if found is None:
            raise UserError(f"{name} was not called in this run, or returned no tensor")
        if not -len(found.calls) <= call < len(found.calls):
            raise UserError(f"{name} has no call {call}; number of calls: {len(found.calls)}")
        return found

    def attention_layer(self, layer: int | str, call: int = 0) -> AttentionLayer:
        """Return an attention module by the number of its layer, or by its path."""
        return find_attention(self.attention_layers, layer, call)

    def attention(self, layer: AttentionLayer) -> AttentionMaps:
        """Return the attention maps of all heads of a layer."""
        cached = self.cached
        from bertviewer.core.replay.attention import attention_of

        return attention_of(cached, layer.path, self.progress, call=layer.call)

    def predictions(self, position: int) -> Predictions:
        """Return the model's predictions for a token."""
        cached = self.cached
        from bertviewer.core.replay.predictions import predictions_at

        return predictions_at(cached, position, self.progress)

    def histogram(self, path: str) -> Histogram:
        """Return the histogram of a module's output."""
        cached = self.cached
        from bertviewer.core.replay.outputs import histogram_of

        return histogram_of(cached, path, self.progress)


def find_attention(
    known: Sequence[AttentionLayer], layer: int | str, call: int = 0
) -> AttentionLayer:
    """Return an attention module by the number of its layer, or by its path.

    Raises:
        UserError: there is none, or there are several.
    """
    if isinstance(layer, str):
        found = [each for each in known if (each.path, each.call) == (layer, call)]
    else:
        found = [each for each in known if each.number == layer]
    if len(found) == 1:
        return found[0]
    if found:
        paths = ", ".join(each.path for each in found)
        raise UserError(f"layer {layer} has several attentions; name one by its path: {paths}")
    paths = ", ".join(dict.fromkeys(each.path for each in known)) or "none"
    raise UserError(f"there is no attention {layer!r}; available: {paths}")


class AttentionDetails(Struct, frozen=True, eq=False):
    """Measures of all heads, and the attention maps of some layers.

    The maps of all layers of a large model would take hundreds of megabytes.

    Attributes:
        measures: by layer, in order.
        kinds: what the heads of each of these layers attend to.
        uniform: the largest entropy of uniform attention in each of these layers.
        shown: the layers to show in full.
        large: the head to show large; ``None`` if all are broad.
        maps: of ``shown``, and of the layer of ``large``.
    """

    measures: Mapping[AttentionLayer, HeadMeasures] = field(default_factory=dict)
    kinds: Mapping[AttentionLayer, Sequence[HeadKind]] = field(default_factory=dict)
    uniform: Mapping[AttentionLayer, float] = field(default_factory=dict)
    shown: tuple[AttentionLayer, ...] = ()
    large: RankedHead | None = None
    maps: Mapping[AttentionLayer, AttentionMaps] = field(default_factory=dict)


class ModuleExcerpts(Struct, frozen=True, eq=False):
    """Corners of a module's input and output tensors; ``title`` names it in a sentence."""

    title: str
    corners: tuple[tuple[TensorKey, Corner], ...]


class BaselineDetails(Struct, frozen=True, eq=False):
    """Details of run A, the baseline, next to those of the reported run B.

    Attributes:
        run: run A.
        heads: the heads whose attention changed most, by mean |B − A|, largest first.
        maps: the maps of B and A of the first of these.
        predictions: the model's predictions in A, by position in B.
    """

    run: ActivationRun
    heads: tuple[RankedHead, ...] = ()
    maps: tuple[AttentionMaps, AttentionMaps] | None = None
    predictions: Mapping[int, Predictions] = field(default_factory=dict)


class OtherModelDetails(Struct, frozen=True, eq=False):
    """The sentence of the run in another model, the one that the model is compared with.

    Attributes:
        problem: why it was not run, as a sentence; "" if it was.
        run: its run there.
        architecture: of the other model.
        predictions: this model's and the other's, at the same tokens or the same masks.
        heads: the heads whose attention changed most, by mean |Δ|, if both read the same tokens.
    """

    problem: str = ""
    run: ActivationRun | None = None
    architecture: Architecture | None = None
    predictions: tuple[tuple[Predictions, Predictions], ...] = ()
    heads: tuple[RankedHead, ...] = ()


class RunDetails(Struct, frozen=True, eq=False):
    """What is calculated from a run and its activation cache for a report.

    Attributes:
        attention: measures and maps; ``None`` if no attention exposes its weights.
        predictions: at the masks, or else the last position.
        histogram: of the model's output.
        padding: the effect of padding, with and without attention mask.
        sentences: the two sentences as vectors, if there are two.
        inside: the steps of a layer; ``None`` if they cannot be written as code.
        excerpts: corners of the inputs and outputs of layers, if there is no ``inside``.
        baseline: details of run A.
    """

    attention: AttentionDetails | None = None
    predictions: tuple[Predictions, ...] = ()
    histogram: Histogram | None = None
    padding: Padding | None = None
    sentences: SentenceComparison | None = None
    inside: InsideLayer | None = None
    excerpts: tuple[ModuleExcerpts, ...] = ()
    baseline: BaselineDetails | None = None
