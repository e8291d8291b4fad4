"""A run of a sentence, for scripts."""

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from msgspec.structs import replace

from bertviewer.api.errors import with_error_lines
from bertviewer.api.figure import Figure
from bertviewer.api.pictures import FigureName, FigureOptions, picture_of
from bertviewer.api.tables import Row, row_of, table_html
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, merge_checks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bertviewer.report.run_details import RunContext


class Values(NamedTuple):
    """Inputs and outputs of a module in one call, by the names of its arguments and outputs."""

    took: "dict[str, NDArray[Any]]"
    gave: "dict[str, NDArray[Any]]"


class Run:
    """A run of one sentence.

    Tables are lists of plain dicts. Values, attention and checks are not stored: each call
    replays a part of the model.

        >>> import bertviewer
        >>> run = bertviewer.open("demo").run("Hello, BERT.")
        >>> inputs, outputs = run.values("pooler.dense")
        >>> inputs["input"].shape, outputs["output"].shape
        ((1, 384), (1, 384))
        >>> all(step["ok"] for step in run.check("pooler"))
        True

    Attributes:
        context: the run, its model and its activation cache.
    """

    def __init__(self, context: "RunContext", whole_check: Check | None = None) -> None:
        """Use ``Model.run`` or ``Model.saved_runs``."""
        self.context = context
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
        names = ("path", "class", "mean", "std", "min", "max")
        rows = [[row[name] for name in names] for row in self.statistics()]
        return "\n".join(
            (
                table_html(title, ("", "Token", "Id", "Segment"), tokens),
                table_html("Statistics", ("Module", "Class", "Mean", "Std", "Min", "Max"), rows),
            )
        )

    @property
    def data(self) -> ActivationRun:
        """The run as frozen data."""
        return self.context.run

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
        """The device of the run, by torch's name."""
        return self.data.device

    @property
    def is_random(self) -> bool:
        """Whether all weights are random, so that results are meaningless."""
        return self.data.source.weights == "random"

    @property
    def tokens(self) -> list[Row]:
        """A row for each token: ``id``, ``text`` and ``segment``."""
        return [{"id": t.id, "text": t.text, "segment": t.segment} for t in self.data.tokens]

    @property
    def hidden_states(self) -> "tuple[NDArray[np.floating[Any]], ...]":
        """The hidden states, [tokens, D] each, the embeddings first."""
        return self.data.hidden_states

    @property
    def checked(self) -> tuple[bool, tuple[str, ...]]:
        """Whether the whole run was checked, and the modules that were checked one by one."""
        return self._whole_check is not None, tuple(self._checks)

    def statistics(self) -> list[Row]:
        """Return a row for each called module: shapes, statistics, multiply-adds."""
        return [row_of(row) for row in self.to_json()["modules"]]

    @with_error_lines
    def values(self, path: str = "", *, call: int = 0) -> Values:
        """Return inputs and outputs of the module at ``path`` as NumPy arrays.

        They have the model's dtype and a batch dimension of 1; bfloat16, which NumPy lacks, is
        converted to float32. ``call`` is the index of a shared layer's call.
        """
        self.context.called(path, call)
        cached, progress = self.context.cached, self.context.progress
        from bertviewer.core.replay.module_tensors import module_tensors
        from bertviewer.core.tensors.parameters import as_arrays

        inputs, outputs = module_tensors(cached, path, progress, call=call)
        return Values(as_arrays(inputs), as_arrays(outputs))

    def attentions(self) -> list[Row]:
        """Return a row for each called attention module; one outside of layers has layer -1."""
        return [
            {
                "path": layer.path,
                "call": layer.call,
                "layer": -1 if layer.number is None else layer.number,
                "stack": layer.stack,
                "kind": layer.kind,
                "name": layer.name,
            }
            for layer in self.context.attention_layers
        ]

    @with_error_lines
    def attention(self, layer: int | str = 0, *, call: int = 0) -> "NDArray[np.floating[Any]]":
        """Return the attention weights of a layer: heads × queries × keys.

        Args:
            layer: number of a layer, or path of an attention module as in ``attentions()``.
            call: index of a shared module's call, if ``layer`` is a path.
        """
        return self.context.attention(self.context.attention_layer(layer, call)).probabilities

    @with_error_lines
    def check(self, path: str | None = None) -> list[Row]:
        """Recompute outputs in float64 from the recorded inputs, and compare.

        Args:
            path: a module, which includes the heads of its attention; all called ones by default.

        Returns:
            A row for each step; ``ok`` says whether the largest difference is within the
            tolerance.
        """
        context = self.context
        if context.recorded.file:
            saved = self.data.check or Check(())
            return [step.to_json() for step in saved.steps if path in (None, step.path)]
        if path is not None:
            self.context.called(path)
        from bertviewer.core.checks.check import check_all, check_module

        model, cache = context.model, context.cached.cache
        if path is None:
            found = self._whole_check = check_all(model, cache, context.progress)
        else:
            found = check_module(model, cache, path, context.progress)
            self._checks[path] = found
        check = self._whole_check or merge_checks(self._checks, model.architecture)
        recorded = replace(context.recorded, run=replace(self.data, check=check))
        self.context = replace(context, recorded=recorded)
        return [step.to_json() for step in found.steps]

    def unchecked(self) -> list[Row]:
        """Return a row for each module that could not be checked, with the reason."""
        found = () if self.data.check is None else self.data.check.unchecked
        return [{"path": each.path, "reason": each.reason} for each in found]

    @with_error_lines
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
            name: ``layers`` (a statistic by layer, also of the part at ``path``), ``norms`` (of
                every token in every hidden state), ``similarity`` (of all tokens in a hidden
                state), ``attention`` (of a layer: all heads, or one), ``heads`` (the entropy of
                all heads) or ``histogram`` (of the output of the module at ``path``).
            statistic: mean, std, min, max, rms, zero_fraction, nan_count, inf_count or mean ± std.
            layer: the layer of ``attention``, as in the method of that name.
            head: one of its heads.
            state: the hidden state of ``similarity``, 0 for the embeddings.
            path: a module.
        """
        options = FigureOptions(statistic, layer, head, state, path)
        model = self.context.model
        return Figure(
            name, picture_of(name, self.context, options), model.architecture, model.source
        )

    def summary(self) -> str:
        """Return the output of ``bertviewer run``."""
        from bertviewer.report.run_text import run_text

        return run_text(self.data)

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.run/1``."""
        return self.data.to_json()
