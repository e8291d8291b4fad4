"""An open model, as a script reads it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

# What a call needs is imported there: a summary wants little of all this.
from bertviewer.api.errors import in_one_line
from bertviewer.api.tables import Row, row_of
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.util.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bertviewer.api.comparison import Comparison
    from bertviewer.api.corpus import Corpus
    from bertviewer.api.figure import Figure
    from bertviewer.api.formula import Formula
    from bertviewer.api.reporting import ReportWishes
    from bertviewer.api.run import Run
    from bertviewer.api.running import CorpusWishes

CPU = "cpu"


class Model:
    """A model that is open. Paths are those of ``named_modules()``, "" for the model itself.

    What takes long is done when it is asked for: weights are loaded for the first run, and the
    formulas of a model that was never seen are derived for the first formula. One model is used
    from one thread at a time.

        >>> import bertviewer
        >>> model = bertviewer.open("demo")
        >>> model.parameters()[0]["symbolic_shape"]
        ['V', 'D']
        >>> model.tensor("pooler.dense.bias").shape
        (384,)

    Attributes:
        loaded: the model as the program has it.
    """

    def __init__(self, loaded: LoadedModel, progress: Progress) -> None:
        """Models come from ``bertviewer.open``."""
        self.loaded = loaded
        self._progress = progress

    def __repr__(self) -> str:
        root = self.architecture.root
        return (
            f"<bertviewer.Model {self.name!r}: {root.class_name}, {root.parameters:,} parameters>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a model cannot be pickled or copied because its weights are large; open it again "
            "instead"
        )

    def _repr_html_(self) -> str:
        from bertviewer.api.notebook import table_html

        title = f"{self.name}: {self.architecture.root.class_name}, {self.task}"
        rows = [
            (node.path, node.class_name, node.parameters, f"{100 * node.share:.2f} %")
            for node in self.architecture.modules
            if node.depth <= 2
        ]
        return table_html(title, ("Module", "Class", "Parameters", "Share"), rows)

    @property
    def name(self) -> str:
        """What was opened, as it was written."""
        return self.loaded.source.name

    @property
    def task(self) -> str:
        """The head that it was opened with."""
        return self.loaded.source.task.name

    @property
    def architecture(self) -> Architecture:
        """All that is known of it, as plain frozen data, with what was derived so far."""
        return self.loaded.architecture

    @in_one_line
    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.architecture/1``, with all formulas."""
        keys = self.loaded.load_report
        checkpoint = {"checkpoint": None if keys is None else keys.to_json()}
        return self.loaded.with_formulas(self._progress).to_json() | checkpoint

    @in_one_line
    def summary(self, *, depth: int | None = None, parameters: bool = False) -> str:
        """Return what ``bertviewer summary`` prints.

        Args:
            depth: how many levels below the model are listed; all if left out.
            parameters: whether the named parameters are listed too.
        """
        from bertviewer.report.key_report import summary_text

        architecture = self.loaded.with_kv_cache(self._progress)
        return summary_text(architecture, self.loaded.load_report, depth, parameters)

    @in_one_line
    def modules(self) -> list[Row]:
        """Return a row for each module: path, class, counts, share, formulas."""
        self.loaded.with_formulas(self._progress)
        rows = [row_of(node.to_json()) for node in self.architecture.modules]
        for row, node in zip(rows, self.architecture.modules, strict=True):
            del row["attributes"], row["repeat"]
            row["repeat_count"] = 1 if node.repeat is None else node.repeat.count
        return rows

    @in_one_line
    def parameters(self) -> list[Row]:
        """Return a row for each named parameter: shape in numbers and letters, dtype, ties.

        The dtype of a tensor that is stored as codes is "quantized".
        """
        self.loaded.with_formulas(self._progress)
        architecture = self.architecture
        return [
            {**row_of(tensor.to_json()), "dtype": architecture.stored_dtype(tensor)}
            for tensor in architecture.parameters
        ]

    @in_one_line
    def formula(self, path: str = "") -> Formula:
        """Return how many parameters a module has and why, and what it computes."""
        from bertviewer.api.formula import formula_at

        _node(self.architecture, path)
        architecture = self.loaded.with_formulas(self._progress)
        return formula_at(_node(architecture, path), architecture)

    @in_one_line
    def flow(self, path: str = "") -> dict[str, Any]:
        """Return the flow of data through a module, the document ``bertviewer.flow/1``."""
        from bertviewer.report.flow_text import flow_of

        _node(self.architecture, path)
        # The letters of shapes take as long as all formulas.
        architecture = self.loaded.with_formulas(self._progress)
        return flow_of(architecture, path).document(architecture.source)

    @in_one_line
    def flow_text(self, path: str = "") -> str:
        """Return the steps of a module in their order, as ``bertviewer flow`` prints them."""
        from bertviewer.report.flow_text import flow_of, flow_text

        _node(self.architecture, path)
        architecture = self.loaded.with_flows(self._progress)
        return flow_text(flow_of(architecture, path), architecture)

    @in_one_line
    def figure(self, path: str = "") -> Figure:
        """Return the drawing of a module: the flow of data through it."""
        from bertviewer.api.figure import Figure
        from bertviewer.report.flow_text import flow_of
        from bertviewer.report.pictures import Picture

        _node(self.architecture, path)
        architecture = self.loaded.with_flows(self._progress)
        picture = Picture(flow_of(architecture, path))
        return Figure(f"flow of {path or self.name}", picture, architecture, self.loaded.source)

    @in_one_line
    def tensor(self, name: str) -> NDArray[Any]:
        """Return a parameter as an array of numpy, read from the checkpoint without torch.

        Floats that numpy has no type for become float32. What the checkpoint lacks is drawn at
        random, as for a run; a model without weights has none before a run with random ones.
        """
        from bertviewer.core.tensors.parameters import whole_tensor

        return whole_tensor(self.loaded, name, self._progress)

    @in_one_line
    def run(
        self,
        text: str,
        pair: str | None = None,
        *,
        random_weights: bool = False,
        device: str = CPU,
        cut: bool = False,
        check: bool = False,
    ) -> Run:
        """Run a sentence and watch every module.

        Args:
            text: the sentence.
            pair: a second one.
            random_weights: whether a model without weights is run on seeded random ones.
            device: where, as torch names it: ``cpu``, ``cuda``, ``cuda:0`` or ``mps``.
            cut: whether a sentence that is too long is cut to what the model has positions for.
            check: whether everything is checked, as ``Run.check()`` does, with a pass less.
        """
        from bertviewer.api.running import run_of

        sentence = Sentence(text, pair, cut)
        return run_of(
            *(self.loaded, sentence, self._progress),
            random_weights=random_weights,
            device=device,
            is_checked=check,
        )

    @in_one_line
    def corpus(
        self,
        *data: str | PathLike[str],
        folder: str | PathLike[str],
        **wishes: Unpack[CorpusWishes],
    ) -> Corpus:
        """Run many sentences, or go on with a folder that has a part of it already.

        In a script that torchrun starts, each process runs shards of its own; the first one waits
        for the others and writes the corpus, which is read there when it is first asked for.

        Args:
            data: text files with a sentence a line, JSONL, CSV or Parquet, any of them gzipped.
            folder: where the corpus is written.
            wishes: ``column``, ``batch_size``, ``batch_tokens``, ``max_tokens``, ``limit``,
                ``shards``, ``modules``, ``random_weights`` and ``device``, as of the command.
        """
        from bertviewer.api.corpus import Corpus
        from bertviewer.api.running import corpus_of

        place = Path(folder)
        found = corpus_of(self.loaded, [*map(Path, data)], place, wishes, self._progress)
        return Corpus(place, found, self.loaded)

    @in_one_line
    def saved_runs(self) -> tuple[Run, Run | None]:
        """Return the last run and run A of a ``.bertviewer`` file that was opened, as they were."""
        from bertviewer.api.running import saved_runs

        return saved_runs(self.loaded, self._progress)

    @in_one_line
    def compare(self, right: Model) -> Comparison:
        """Compare another model with this one: configuration, and how far each tensor moved."""
        from bertviewer.api.comparison import Comparison
        from bertviewer.core.comparison.compare_models import compare_models

        return Comparison(compare_models(self.loaded, right.loaded, self._progress))

    @in_one_line
    def report(
        self,
        file: str | PathLike[str],
        run: Run | None = None,
        *,
        against: Run | None = None,
        compare: Model | None = None,
        compare_from: Model | None = None,
        **wishes: Unpack[ReportWishes],
    ) -> Path:
        """Write a report, and return its path.

        It is the one that ``bertviewer report`` writes, and names the command that writes it again.

        Args:
            file: it is written as its name ends: .pdf, .html, .md, .tex or .json.
            run: what is told of a sentence, with all that was checked of it.
            against: run A, to compare the run with.
            compare: another model: a chapter says how it differs from this one.
            compare_from: another model from which the way to this one is measured.
            wishes: ``sections``, ``layers``, ``statistic``, ``paper``, ``title``, ``author``,
                ``grey``, ``corpus`` and ``format``, as of the command.
        """
        from bertviewer.api.reporting import ReportPlan

        plan = ReportPlan(Path(file), self.loaded.source, **wishes)
        left = None if compare_from is None else compare_from.loaded
        right = None if compare is None else compare.loaded
        plan.write(self.loaded, run, against, left=left, right=right, progress=self._progress)
        return plan.path


def _node(architecture: Architecture, path: str) -> ModuleNode:
    """Return a module by its path."""
    from bertviewer.report.flow_text import check_path

    nodes = {node.path: node for node in architecture.modules}
    check_path(path, nodes, architecture.source.name)
    return nodes[path]
