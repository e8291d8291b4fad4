"""What the heads of one attention look at in the runs of the window, for any part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertviewer.ui.views.run_request import RunRequest

if TYPE_CHECKING:
    from bertviewer.charts.attention import RunAttention
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.util.progress import Progress
    from bertviewer.ui.jobs.recorded_run import RecordedRun


def attention_job(
    layer: AttentionLayer, model: LoadedModel, watched: RecordedRun, progress: Progress
) -> RunAttention:
    """Calculate what the heads of an attention look at."""
    from bertviewer.charts.attention import RunAttention
    from bertviewer.core.replay.attention import attention_of

    run = watched.run
    maps = attention_of(watched.cached(model), layer.path, progress, call=layer.call)
    return RunAttention(run, maps, layer)


class AttentionRequest(RunRequest["RunAttention"]):
    """The attention of one layer: of the last run in ``b``, and of run A in ``a``.

    ``core.analysis.attention_layers`` says which attentions a run has. What was there before stays
    until ``finished``; nothing else is kept.
    """

    def want_layer(self, layer: AttentionLayer) -> bool:
        """Return whether this layer's is there; if not, it is on its way.

        Of a layer that is there already only the run that is new is calculated.
        """
        known = () if self.result is None else tuple(self.result.found.values())

        def find(model: LoadedModel, watched: RecordedRun, progress: Progress) -> RunAttention:
            for one in known:
                if one.run is watched.run and one.layer == layer:
                    return one
            return attention_job(layer, model, watched, progress)

        return self.want_of_runs(layer, find)
