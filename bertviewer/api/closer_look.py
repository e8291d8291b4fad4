"""What is calculated of a run when it is asked for, by calling a part of the model once more."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress

if TYPE_CHECKING:
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.analysis.attention_maps import AttentionMaps
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.runs.activation_cache import ActivationCache
    from bertviewer.core.statistics.histograms import Histogram

FROM_FILE = "this run was loaded from a file; for details, open its model and run it again"


def chosen_attention(
    known: "Sequence[AttentionLayer]", layer: int | str, call: int = 0
) -> "AttentionLayer":
    """Return the attention that is meant: by a layer's number, or by its path.

    Raises:
        UserError: there is none, or there are several.
    """
    if isinstance(layer, str):
        found = [one for one in known if (one.path, one.call) == (layer, call)]
    else:
        found = [one for one in known if one.number == layer]
    if len(found) == 1:
        return found[0]
    if found:
        paths = ", ".join(one.path for one in found)
        raise UserError(f"layer {layer} has several attentions; name one by its path: {paths}")
    paths = ", ".join(dict.fromkeys(one.path for one in known)) or "none"
    raise UserError(f"there is no attention {layer!r}; available: {paths}")


class CloserLook(Struct, frozen=True, eq=False):
    """A run, its model, and what was kept to look closer; ``None`` of a run that was saved."""

    model: "LoadedModel"
    run: ActivationRun
    kept: "ActivationCache | None"
    progress: Progress

    @property
    def capture(self) -> "ActivationCache":
        """What was kept.

        Raises:
            UserError: the run was read from a file.
        """
        if self.kept is None:
            raise UserError(FROM_FILE)
        return self.kept

    def check_path(self, path: str) -> None:
        """Check that there is a module.

        Raises:
            UserError: there is none.
        """
        from bertviewer.report.flow_text import check_path

        nodes = {node.path: node for node in self.model.architecture.modules}
        check_path(path, nodes, self.model.source.name)

    def called(self, path: str, call: int = 0) -> ModuleActivation:
        """Return what is known of a module that was called so often.

        Raises:
            UserError: there is no such module, or it was not.
        """
        self.check_path(path)
        found, name = self.run.activation(path), path or "the model"
        if found is None:
            raise UserError(f"{name} was not called in this run, or returned no tensor")
        if not -len(found.calls) <= call < len(found.calls):
            raise UserError(f"{name} has no call {call}; number of calls: {len(found.calls)}")
        return found

    def attention_layers(self) -> "tuple[AttentionLayer, ...]":
        """Return the attentions that were called."""
        from bertviewer.core.analysis.attention_layers import attention_layers

        return attention_layers(self.model.architecture, self.run)

    def attention_layer(self, layer: int | str, call: int = 0) -> "AttentionLayer":
        """Return the attention that is meant: by a layer's number, or by its path.

        Raises:
            UserError: there is none, or there are several.
        """
        return chosen_attention(self.attention_layers(), layer, call)

    def attention(self, layer: "AttentionLayer") -> "AttentionMaps":
        """Return what the heads of an attention look at.

        Raises:
            UserError: it does not show it, or the run was read from a file.
        """
        kept = self.capture
        from bertviewer.core.replay.attention import attention_of
        from bertviewer.core.replay.cached_run import CachedRun

        return attention_of(
            CachedRun(self.model, self.run, kept), layer.path, self.progress, call=layer.call
        )

    def histogram(self, path: str) -> "Histogram":
        """Return how what a module gave is spread.

        Raises:
            UserError: it gave nothing that can be counted, or the run was read from a file.
        """
        kept = self.capture
        from bertviewer.core.replay.cached_run import CachedRun
        from bertviewer.core.replay.outputs import histogram_of

        return histogram_of(CachedRun(self.model, self.run, kept), path, self.progress)
