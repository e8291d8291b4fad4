"""What one sentence did to a model, as a script reads it."""

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from msgspec.structs import replace

from bertviewer.api.closer_look import CloserLook
from bertviewer.api.errors import in_one_line
from bertviewer.api.figure import Figure
from bertviewer.api.notebook import table_html
from bertviewer.api.pictures import FigureName, Wish, picture_of
from bertviewer.api.tables import Row, row_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, merge_checks
from bertviewer.core.util.progress import Progress
from bertviewer.report.recipe import SavedRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.runs.activation_cache import ActivationCache


class Values(NamedTuple):
    """What a module took and gave in one call, by the names of its arguments and outputs."""

    took: "dict[str, NDArray[Any]]"
    gave: "dict[str, NDArray[Any]]"


class Run:
    """One sentence's way through a model.

    Tables are lists of plain dicts. Values, attention and checks are calculated when they are asked
    for, by calling a layer once more: nothing of them is kept.

        >>> import bertviewer
        >>> run = bertviewer.open("demo").run("Hello, BERT.")
        >>> took, gave = run.values("pooler.dense")
        >>> took["input"].shape, gave["output"].shape
        ((1, 384), (1, 384))
        >>> all(step["ok"] for step in run.check("pooler"))
        True

    Attributes:
        closer_look: what that is done with.
        saved: the file that the run was read from, ``None`` for one that was made here.
    """

    def __init__(
        self,
        model: "LoadedModel",
        data: ActivationRun,
        kept: "ActivationCache | None",
        progress: Progress,
        saved: SavedRun | None = None,
        *,
        whole_check: Check | None = None,
    ) -> None:
        """Runs come from ``Model.run`` and ``Model.saved_runs``."""
        self.closer_look = CloserLook(model, data, kept, progress)
        self.saved = saved
        self._checks: dict[str, Check] = {}
        self._whole_check = whole_check

    def __repr__(self) -> str:
        return f"<bertviewer.Run of {self.data.source.name!r}: {self.text!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a run cannot be pickled or copied because it holds its model; use run.data instead"
        )

    def _repr_html_(self) -> str:
        title = f"{self.data.source.name}: {self.text}"
        if self.is_random:
            title += " (random weights)"
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
    def data(self) -> ActivationRun:
        """All figures of the run, as plain frozen data."""
        return self.closer_look.run

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
        look = self.closer_look
        look.called(path, call)
        kept = look.capture
        from bertviewer.core.replay.cached_run import CachedRun
        from bertviewer.core.replay.module_tensors import module_tensors
        from bertviewer.core.tensors.parameters import as_arrays

        took, gave = module_tensors(
            CachedRun(look.model, self.data, kept), path, look.progress, call=call
        )
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
            for one in self.closer_look.attention_layers()
        ]

    @in_one_line
    def attention(self, layer: int | str = 0, *, call: int = 0) -> "NDArray[np.floating[Any]]":
        """Return what each head of a layer takes from each token: heads × tokens × tokens.

        Args:
            layer: the number of a layer, or the path of an attention, as ``attentions()`` has them.
            call: which call of an attention that layers share, if it is named by its path.
        """
        look = self.closer_look
        return look.attention(look.attention_layer(layer, call)).probabilities

    @in_one_line
    def check(self, path: str | None = None) -> list[Row]:
        """Recompute what modules gave in float64 from plain tensor maths, and compare.

        Args:
            path: a module, with the heads of its attentions; all that was called if left out.

        Returns:
            A row for each step: ``ok`` says whether the largest deviation is within what rounding
            may do.
        """
        if self.saved is not None:
            found = self.data.check or Check(())
            return [step.to_json() for step in found.steps if path in (None, step.path)]
        look = self.closer_look
        if path is not None:
            look.called(path)
        from bertviewer.core.checks.check import check_all, check_module

        if path is None:
            found = self._whole_check = check_all(look.model, look.capture, look.progress)
        else:
            found = self._checks[path] = check_module(look.model, look.capture, path, look.progress)
        every = self._whole_check or merge_checks(self._checks, look.model.architecture)
        self.closer_look = replace(look, run=replace(self.data, check=every))
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
        look = self.closer_look
        picture = picture_of(name, look, Wish(statistic, layer, head, state, path))
        return Figure(name, picture, look.model.architecture, look.model.source)

    def summary(self) -> str:
        """Return what ``bertviewer run`` prints."""
        from bertviewer.report.run_text import run_text

        return run_text(self.data)

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.run/1``."""
        return self.data.to_json()

    @property
    def checked(self) -> tuple[bool, tuple[str, ...]]:
        """Whether everything was checked, and the modules that were checked by themselves."""
        return self._whole_check is not None, tuple(self._checks)
