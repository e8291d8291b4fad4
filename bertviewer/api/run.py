"""What one sentence did to a model, as a script reads it."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bertviewer.api.errors import in_one_line
from bertviewer.api.figure import Figure
from bertviewer.api.notebook import table_html
from bertviewer.api.pictures import FigureName, Sight, Wish, picture_of
from bertviewer.api.tables import Row, row_of
from bertviewer.core.activations.activation_run import ActivationRun, ModuleActivation
from bertviewer.core.activations.check_step import Check
from bertviewer.core.activations.united_checks import united
from bertviewer.core.errors import UserError
from bertviewer.core.progress import Progress
from bertviewer.report.recipe import SavedRun, SentenceRun, sentence_run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.analysis.attention_maps import AttentionMaps
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.run.capture import Capture

FROM_FILE = "this run was read from a file: a closer look needs its model, and a run of it"


class Values(NamedTuple):
    """What a module took and gave in one call, by the names of its arguments and outputs."""

    took: "dict[str, NDArray[Any]]"
    gave: "dict[str, NDArray[Any]]"


class Run:
    """One sentence's way through a model.

    Tables are lists of plain dicts. Values, attention and checks are calculated when they are asked
    for, by calling a layer once more: nothing of them is kept.

    Attributes:
        data: all figures of the run, as plain frozen data.
        loaded: the model that it went through, as the program has it.
    """

    def __init__(
        self,
        model: "LoadedModel",
        data: ActivationRun,
        kept: "Capture | None",
        progress: Progress,
        saved: SavedRun | None = None,
    ) -> None:
        """Runs come from ``Model.run`` and ``Model.saved_runs``."""
        self.data = data
        self.loaded = model
        self._kept = kept
        self._progress = progress
        self._saved = saved
        self._checks: dict[str, Check] = {}
        self._whole_check: Check | None = None

    def __repr__(self) -> str:
        return f"<bertviewer.Run of {self.data.source.name!r}: {self.text!r}>"

    def _repr_html_(self) -> str:
        title = f"{self.data.source.name}: {self.text}"
        if self.is_random:
            title += " (RANDOM weights)"
        tokens = [(n, t["text"], t["id"], t["segment"]) for n, t in enumerate(self.tokens)]
        rows = [
            (row["path"], row["class"], row["mean"], row["std"], row["min"], row["max"])
            for row in self.statistics()
        ]
        return "\n".join(
            (
                table_html(title, ("", "Token", "Id", "Segment"), tokens),
                table_html("Statistics", ("Module", "Class", "Mean", "Std", "Min", "Max"), rows),
            )
        )

    @property
    def text(self) -> str:
        """The sentence."""
        return self.data.sentence.text

    @property
    def pair(self) -> str | None:
        """The second sentence."""
        return self.data.sentence.pair

    @property
    def device(self) -> str:
        """Where it was run, as torch names it."""
        return self.data.device

    @property
    def is_random(self) -> bool:
        """Whether all weights were drawn at random, so that no figure means anything."""
        return self.data.source.weights == "random"

    @property
    def tokens(self) -> list[Row]:
        """A row for each token: ``id``, ``text`` and ``segment``."""
        return [{"id": t.id, "text": t.text, "segment": t.segment} for t in self.data.tokens]

    @property
    def hidden_states(self) -> "tuple[NDArray[np.floating[Any]], ...]":
        """The hidden states, [tokens, D] each, the embeddings first."""
        return self.data.hidden_states

    def statistics(self) -> list[Row]:
        """Return a row for each module that was called: shapes, statistics, multiply-adds."""
        return [row_of(row) for row in self.to_json()["modules"]]

    @in_one_line
    def values(self, path: str = "", *, call: int = 0) -> Values:
        """Return what the module at ``path`` took and gave, as arrays of numpy.

        They are of the model's own dtype, with the batch of 1; numpy has no bfloat16, so that is
        widened to float32. ``call`` chooses one of the calls of a shared layer.
        """
        kept = self._capture()
        self._called(path, call)
        from bertviewer.core.closer_look.arrays import as_arrays
        from bertviewer.core.closer_look.seen_tensors import values

        took, gave = values(self.loaded, self.data, kept, path, self._progress, call=call)
        return Values(as_arrays(took), as_arrays(gave))

    def attentions(self) -> list[Row]:
        """Return a row for each attention that was called; one outside of layers has layer -1."""
        return [
            {
                "path": one.path,
                "call": one.call,
                "layer": -1 if one.number is None else one.number,
                "stack": one.stack,
                "kind": one.kind,
                "name": one.name,
            }
            for one in self._attention_layers()
        ]

    @in_one_line
    def attention(self, layer: int | str = 0, *, call: int = 0) -> "NDArray[np.floating[Any]]":
        """Return what each head of a layer takes from each token: heads × tokens × tokens.

        Args:
            layer: the number of a layer, or the path of an attention, as ``attentions()`` has them.
            call: which call of an attention that layers share, if it is named by its path.
        """
        return self._attention(layer, call)[1].probabilities

    @in_one_line
    def check(self, path: str | None = None) -> list[Row]:
        """Recompute what modules gave in float64 from plain tensor maths, and compare.

        Args:
            path: a module, with the heads of its attentions; all that was called if left out.

        Returns:
            A row for each step: ``ok`` says whether the largest deviation is within what rounding
            may do.
        """
        if self._saved is not None:
            found = self.data.check or Check(())
            return [step.to_json() for step in found.steps if path in (None, step.path)]
        kept = self._capture()
        if path is not None:
            self._called(path, 0)
        from bertviewer.core.checking.check import check_all, check_module

        if path is None:
            found = self._whole_check = check_all(self.loaded, kept, self._progress)
        else:
            found = self._checks[path] = check_module(self.loaded, kept, path, self._progress)
        every = self._whole_check or united(self._checks, self.loaded.architecture)
        self.data = replace(self.data, check=every)
        return [step.to_json() for step in found.steps]

    def unchecked(self) -> list[Row]:
        """Return a row for each module that was to be checked and could not be, with the reason."""
        found = () if self.data.check is None else self.data.check.unchecked
        return [{"path": one.path, "reason": one.reason} for one in found]

    @in_one_line
    def figure(
        self,
        name: FigureName,
        *,
        statistic: str = "std",
        layer: int | str = 0,
        head: int | None = None,
        state: int = -1,
        path: str = "",
    ) -> Figure:
        """Return a figure of the run.

        Args:
            name: ``layers`` (a statistic layer by layer, and of the part that ``path`` is),
                ``norms`` (of every token in every hidden state), ``similarity`` (of all tokens in a
                hidden state), ``attention`` (of a layer: all heads, or one), ``heads`` (the entropy
                of all heads of all layers) or ``histogram`` (of what the module at ``path`` gave).
            statistic: mean, std, min, max, rms, zero_fraction, nan_count, inf_count or mean ± std.
            layer: the layer of ``attention``, as of the method of that name.
            head: one head of it.
            state: the hidden state of ``similarity``, 0 for the embeddings.
            path: a module.
        """
        sight = Sight(
            self.data, self.loaded.architecture, self._attention, self._maps, self._histogram
        )
        picture = picture_of(name, sight, Wish(statistic, layer, head, state, path))
        return Figure(f"figure {name}", picture, self.loaded.architecture, self.loaded.source)

    def summary(self) -> str:
        """Return what ``bertviewer run`` prints."""
        from bertviewer.report.summaries import run_text

        return run_text(self.data)

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.run/1``."""
        return self.data.to_json()

    def made(self, other: str = "") -> SentenceRun | SavedRun:
        """Return how it is made again; ``other`` is a model that is not the report's."""
        return self._saved or sentence_run(self.data, other)

    @property
    def checked(self) -> tuple[bool, tuple[str, ...]]:
        """Whether everything was checked, and the modules that were checked by themselves."""
        return self._whole_check is not None, tuple(self._checks)

    def look(self, look: "Callable[[LoadedModel, ActivationRun, Capture, Progress], Any]") -> Any:
        """Return what a closer look of this program's makes of the run; ``None`` of a saved one."""
        if self._kept is None:
            return None
        return look(self.loaded, self.data, self._kept, self._progress)

    def _capture(self) -> "Capture":
        if self._kept is None:
            raise UserError(FROM_FILE)
        return self._kept

    def _called(self, path: str, call: int) -> ModuleActivation:
        """Return what is known of a module that was called so often."""
        from bertviewer.report.flow_text import check_path

        nodes = {node.path: node for node in self.loaded.architecture.modules}
        check_path(path, nodes, self.loaded.source.name)
        found = self.data.activation(path)
        if found is None:
            raise UserError(f"{path or 'the model'} was not called in this run, or gave no tensor")
        if not -len(found.calls) <= call < len(found.calls):
            raise UserError(f"{path or 'the model'} has no call {call}: it has {len(found.calls)}")
        return found

    def _attention_layers(self) -> "tuple[AttentionLayer, ...]":
        from bertviewer.core.analysis.attention_layers import attention_layers

        return attention_layers(self.loaded.architecture, self.data)

    def _attention(self, layer: int | str, call: int = 0) -> "tuple[AttentionLayer, AttentionMaps]":
        kept = self._capture()
        from bertviewer.core.closer_look.attention import attention_of

        found = self._attention_layer(layer, call)
        maps = attention_of(
            self.loaded, self.data, kept, found.path, self._progress, call=found.call
        )
        return found, maps

    def _attention_layer(self, layer: int | str, call: int) -> "AttentionLayer":
        known = self._attention_layers()
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
        raise UserError(f"there is no attention {layer!r} in this run; there are {paths}")

    def _maps(self) -> "dict[AttentionLayer, AttentionMaps]":
        found = {}
        for layer in self._attention_layers():
            found[layer] = self._attention(layer.path, layer.call)[1]
        return found

    def _histogram(self, path: str) -> Any:
        kept = self._capture()
        from bertviewer.core.closer_look.outputs import histogram_of

        return histogram_of(self.loaded, self.data, kept, path, self._progress)
