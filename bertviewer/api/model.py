"""An open model, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

# Methods import what they need: a summary needs little.
from bertviewer.api.errors import with_error_lines
from bertviewer.api.tables import Row, row_of, table_html
from bertviewer.core.corpus.options import BATCH_TOKENS
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
    from bertviewer.api.run import Run
    from bertviewer.report.options import Appendix, Paper

CPU = "cpu"


class Model:
    """An open model. Paths are those of ``named_modules()``, "" for the model.

    Expensive work is done on demand: weights are loaded for the first run, and the formulas of an
    unknown model are derived for the first formula. Use a model from one thread at a time.

        >>> import bertviewer
        >>> model = bertviewer.open("demo")
        >>> model.parameters()[0]["symbolic_shape"]
        ['V', 'D']
        >>> model.tensor("pooler.dense.bias").shape
        (384,)

    Attributes:
        loaded: the internal model.
    """

    def __init__(self, loaded: LoadedModel, progress: Progress) -> None:
        """Use ``bertviewer.open``."""
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
        title = f"{self.name}: {self.architecture.root.class_name}, {self.task}"
        rows = [
            (node.path, node.class_name, node.parameters, f"{100 * node.share:.2f} %")
            for node in self.architecture.modules
            if node.depth <= 2
        ]
        return table_html(title, ("Module", "Class", "Parameters", "Share"), rows)

    @property
    def name(self) -> str:
        """The name that was opened."""
        return self.loaded.source.name

    @property
    def task(self) -> str:
        """The task head."""
        return self.loaded.source.task.name

    @property
    def architecture(self) -> Architecture:
        """The architecture as frozen data, with the formulas derived so far."""
        return self.loaded.architecture

    @with_error_lines
    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.architecture/1``, with all formulas."""
        keys = self.loaded.load_report
        checkpoint = {"checkpoint": None if keys is None else keys.to_json()}
        return self.loaded.with_formulas(self._progress).to_json() | checkpoint

    @with_error_lines
    def summary(self, *, depth: int | None = None, parameters: bool = False) -> str:
        """Return the output of ``bertviewer summary``.

        Args:
            depth: number of levels to list below the model; all by default.
            parameters: whether to list the named parameters, too.
        """
        from bertviewer.report.summary import text

        architecture = self.loaded.with_kv_cache(self._progress)
        return text(architecture, depth, parameters, self.loaded.load_report)

    @with_error_lines
    def modules(self) -> list[Row]:
        """Return a row for each module: path, class, counts, share, formulas."""
        self.loaded.with_formulas(self._progress)
        rows = [row_of(node.to_json()) for node in self.architecture.modules]
        for row, node in zip(rows, self.architecture.modules, strict=True):
            del row["attributes"], row["repeat"]
            row["repeat_count"] = 1 if node.repeat is None else node.repeat.count
        return rows

    @with_error_lines
    def parameters(self) -> list[Row]:
        """Return a row for each named parameter: shape, symbolic shape, dtype, ties.

        The dtype of quantized tensors is "quantized".
        """
        self.loaded.with_formulas(self._progress)
        architecture = self.architecture
        return [
            {**row_of(tensor.to_json()), "dtype": architecture.stored_dtype(tensor)}
            for tensor in architecture.parameters
        ]

    @with_error_lines
    def formula(self, path: str = "") -> Formula:
        """Return a module's parameter count as a formula, and its forward formula."""
        from bertviewer.api.formula import formula_at

        _node(self.architecture, path)
        architecture = self.loaded.with_formulas(self._progress)
        return formula_at(_node(architecture, path), architecture)

    @with_error_lines
    def flow(self, path: str = "") -> dict[str, Any]:
        """Return the data-flow graph of a module, the document ``bertviewer.flow/1``."""
        from bertviewer.report.flow_text import flow_of

        _node(self.architecture, path)
        # Symbolic shapes need the formulas.
        architecture = self.loaded.with_formulas(self._progress)
        return flow_of(architecture, path).document(architecture.source)

    @with_error_lines
    def flow_text(self, path: str = "") -> str:
        """Return the output of ``bertviewer flow``: the steps of a module in order."""
        from bertviewer.report.flow_text import flow_of, flow_text

        _node(self.architecture, path)
        architecture = self.loaded.with_flows(self._progress)
        return flow_text(flow_of(architecture, path), architecture)

    @with_error_lines
    def figure(self, path: str = "") -> Figure:
        """Return a drawing of a module's data-flow graph."""
        from bertviewer.api.figure import Figure
        from bertviewer.report.flow_text import flow_of
        from bertviewer.report.pictures import Picture

        _node(self.architecture, path)
        architecture = self.loaded.with_flows(self._progress)
        picture = Picture(flow_of(architecture, path))
        return Figure(f"flow of {path or self.name}", picture, architecture, self.loaded.source)

    @with_error_lines
    def tensor(self, name: str) -> NDArray[Any]:
        """Return a parameter as a NumPy array, read from the checkpoint without torch.

        Floats that NumPy lacks are converted to float32. Tensors that are missing from the
        checkpoint are random, as in a run; a model without weights has none before a run with
        random ones.
        """
        from bertviewer.core.tensors.parameters import whole_tensor

        return whole_tensor(self.loaded, name, self._progress)

    @with_error_lines
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
        """Run a sentence and record statistics of every module.

        Args:
            text: the sentence.
            pair: a second sentence.
            random_weights: whether to run a model that has no weights with seeded random ones.
            device: ``cpu``, ``cuda``, ``cuda:0`` or ``mps``.
            cut: whether to truncate a text that exceeds the model's positions.
            check: whether to check the run, like ``Run.check()`` but with one pass less.
        """
        from bertviewer.api.running import run_of

        sentence = Sentence(text, pair, cut)
        return run_of(
            *(self.loaded, sentence, self._progress),
            random_weights=random_weights,
            device=device,
            is_checked=check,
        )

    @with_error_lines
    def corpus(
        self,
        *data: str | PathLike[str],
        folder: str | PathLike[str],
        column: str | None = None,
        batch_size: int | None = None,
        batch_tokens: int = BATCH_TOKENS,
        max_tokens: int | None = None,
        limit: int | None = None,
        shards: int | None = None,
        modules: str = "*",
        random_weights: bool = False,
        device: str = CPU,
    ) -> Corpus:
        """Run many sentences, or resume an interrupted corpus.

        In a script that torchrun starts, each process runs its share of the shards; the first one
        waits for the others and writes the corpus.

        Args:
            data: text files with one sentence per line, JSONL, CSV or Parquet, optionally gzipped.
            folder: the folder to write.
            column: column of JSONL, CSV and Parquet files with the sentences; ``text`` by default.
            batch_size: maximum number of sentences per batch.
            batch_tokens: maximum number of tokens per batch, padding included.
            max_tokens: truncate sentences to this many tokens.
            limit: stop after this many sentences.
            shards: number of parts that the data is split into.
            modules: measure only modules whose path matches this pattern.
            random_weights: whether to run a model that has no weights with seeded random ones.
            device: ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
        """
        from bertviewer.api.corpus import Corpus
        from bertviewer.api.running import corpus_of
        from bertviewer.core.corpus.options import CorpusOptions

        options = CorpusOptions(
            *(column, batch_size, batch_tokens, max_tokens, limit, shards),
            *(modules, random_weights, device),
        )
        place = Path(folder)
        found = corpus_of(self.loaded, [*map(Path, data)], place, options, self._progress)
        return Corpus(place, found, self.loaded)

    @with_error_lines
    def saved_runs(self) -> tuple[Run, Run | None]:
        """Return the last run and run A of a ``.bertviewer`` file that was opened."""
        from bertviewer.api.running import saved_runs

        return saved_runs(self.loaded, self._progress)

    @with_error_lines
    def compare(self, right: Model) -> Comparison:
        """Compare another model with this one, which is the reference."""
        from bertviewer.api.comparison import Comparison
        from bertviewer.core.comparison.compare_models import compare_models

        return Comparison(compare_models(self.loaded, right.loaded, self._progress))

    @with_error_lines
    def report(
        self,
        file: str | PathLike[str],
        run: Run | None = None,
        *,
        against: Run | None = None,
        compare: Model | None = None,
        compare_from: Model | None = None,
        sections: Sequence[str] | None = None,
        layers: Sequence[int] | str | None = None,
        statistic: str = "std",
        paper: Paper = "a4",
        title: str = "",
        author: str = "",
        grey: bool = False,
        corpus: Corpus | str | PathLike[str] | None = None,
        appendix: Appendix = "folded",
        format: str | None = None,
    ) -> Path:
        """Write a report, and return its path.

        ``bertviewer report`` writes the same; the command is in the appendix.

        Args:
            file: its extension is .pdf, .html, .md, .tex or .json, unless ``format`` is given.
            run: a run, with all of its checks.
            against: run A, which ``run`` is compared with.
            compare: another model that is compared with this one. The sentence of ``run`` is run
                through both, if both are trained.
            compare_from: the same, with the other model as the reference.
            sections: names of the chapters; all that apply by default.
            layers: layers to show in full, as numbers or a text such as "0, 2-4" or "all"; the
                first and the last by default, and of the attention that of the most telling head.
            statistic: the statistic to plot by layer.
            paper: ``a4`` or ``letter``.
            title: the model's name by default.
            author: author below the title.
            grey: whether to use shades of grey only.
            corpus: a corpus of this model, or its folder.
            appendix: ``folded`` to list identical layers once, or ``full``.
            format: pdf, html, markdown, latex or json.
        """
        from bertviewer.api.corpus import Corpus
        from bertviewer.api.reporting import plan_report, write_report
        from bertviewer.report.options import Options

        folder, data = corpus, None
        if isinstance(corpus, Corpus):
            folder, data = corpus.folder, corpus.data
        options = Options(
            sections=None if sections is None else tuple(sections),
            layers=layers if isinstance(layers, str) else ",".join(map(str, layers or ())),
            statistic=statistic,
            paper=paper,
            title=title,
            author=author,
            grey=grey,
            corpus=str(folder or ""),
            appendix=appendix,
            format=format or "",
        )
        plan = plan_report(Path(file), self.loaded.source, options, data)
        left = None if compare_from is None else compare_from.loaded
        right = None if compare is None else compare.loaded
        write_report(
            plan, self.loaded, run, against, left=left, right=right, progress=self._progress
        )
        return plan.path


def _node(architecture: Architecture, path: str) -> ModuleNode:
    """Return the module at a path."""
    from bertviewer.report.flow_text import check_path

    nodes = {node.path: node for node in architecture.modules}
    check_path(path, nodes, architecture.source.name)
    return nodes[path]
