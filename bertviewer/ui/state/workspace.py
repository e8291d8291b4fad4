"""Workspace: the state of the window, with the open model, and the jobs that change it."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.runs.device import CPU, Device, chosen_device
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource, find_task
from bertviewer.ui.jobs import model_jobs
from bertviewer.ui.jobs.job_queue import JobQueue, Request
from bertviewer.ui.jobs.prefetcher import Prefetcher
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.pages import Page, PageSubject
from bertviewer.ui.state.run_input import RunInput
from bertviewer.ui.state.runs import ModelComparison, Runs
from bertviewer.ui.state.selection import History, Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.hub.opening import HubModel
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.util.errors import UserError
    from bertviewer.ui.jobs.job_queue import ModelWork


class Workspace(QObject):
    """State of the window, and what changes it; widgets follow it and never one another.

    Signals, which say that a part of the state has changed:
        architecture_changed: another model is open, or its structure was corrected; its root is
            selected and there is no run. Carries the architecture.
        formulas_changed: formulas or data flows were derived, or will not come.
        heads_known: it is known for which tasks the checkpoint has a head.
        confirmed: the open model has been built.
        devices_changed: torch has listed the devices.
        device_chosen: sentences run on another device from now on.
        overview_ready: the description of modules is imported.
        views_ready: the views of runs are imported, or a run comes now.
        exported, saved: a file was written; carry its path.
        weights_arrived: the weights of a Hugging Face model are downloaded.

    Requests:
        page_requested: the user wants to see a page; carries the ``Page``, and the ``PageSubject``
            or ``None``.
    """

    architecture_changed = Signal(object)
    formulas_changed = Signal()
    heads_known = Signal()
    confirmed = Signal()
    devices_changed = Signal()
    device_chosen = Signal()
    overview_ready = Signal()
    views_ready = Signal()
    exported = Signal(str)
    saved = Signal(str)
    weights_arrived = Signal()
    page_requested = Signal(object, object)

    def __init__(self, worker: Worker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.architecture: Architecture | None = None
        self.source: ModelSource | None = None
        self.models: tuple[
            ModelSource, ...
        ] = ()  # all that were open or compared, whose files are protected
        self.remote: HubModel | None = None  # the Hugging Face model that is open
        self.devices: tuple[Device, ...] = ()  # once torch is imported
        self.keys: LoadReport | None = None  # of the open model's checkpoint
        self.heads: tuple[str, ...] = ()  # the tasks it can be opened for
        self.random_heads: Mapping[str, Sequence[str]] | None = None
        """The tensors that the checkpoint lacks for each task, ``None`` until that is known."""
        self.device_wish = CPU  # the chosen device, which may not exist
        self.writes_letters_by_others = False  # whether counts are written as 4·D instead of I
        self._model: LoadedModel | None = None
        self.selection = Selection(self)
        self.history = History(self.selection, self)
        self.runs, self.run_input = Runs(self), RunInput(self)
        self.comparison = ModelComparison(self)
        self.jobs = JobQueue(worker, self)
        self.deferred = self.jobs.deferred
        self._heads = Request[dict[str, tuple[str, ...]]](self.jobs, self)
        self._heads.finished.connect(self._on_heads)
        self._prefetcher = Prefetcher(self.jobs, self)
        self.architecture_changed.connect(self.selection.row_changed)
        self._prefetcher.overview_ready.connect(self.overview_ready)
        self._prefetcher.views_ready.connect(self.views_ready)
        self._prefetcher.libraries_ready.connect(self._on_libraries)
        self._prefetcher.confirmed.connect(self._on_confirmed)
        self._prefetcher.derived.connect(self._on_derived)
        self._prefetcher.failed.connect(self.formulas_changed)

    @property
    def is_deriving(self) -> bool:
        """Whether the formulas of the open model are still to come."""
        return self._prefetcher.is_deriving

    @property
    def device(self) -> str:
        """The device on which sentences run, by torch's name."""
        return chosen_device(self.device_wish, self.devices)

    def open(self, source: ModelSource) -> None:
        """Replace the open model, which stays if the new one cannot be opened."""
        if source.kind == "runs":
            self._prefetcher.load_qt_types()  # the worker imports their views
        self.jobs.start("open", partial(model_jobs.open_model_job, source), self._on_opened)

    def show_page(self, page: Page, subject: PageSubject | None = None) -> None:
        """Bring a page into view, and show a subject on it."""
        self.page_requested.emit(page, subject)

    def has_random_head(self, task: str) -> bool:
        """Return whether the checkpoint is known to lack tensors of the model for a task."""
        return bool((self.random_heads or {}).get(task))

    def open_head(self, task: str) -> None:
        """Open the same model with another task head."""
        if self.source is not None:
            self.open(replace(self.source, task=find_task(task)))

    def set_device(self, name: str) -> None:
        """Set the device on which sentences run."""
        self.device_wish = name
        self.device_chosen.emit()

    def run_sentence(self, sentence: Sentence, random_weights: bool) -> None:
        """Run a sentence through the open model."""
        if self._model is None:
            return
        self._prefetcher.load_qt_types()
        work = partial(
            model_jobs.run_sentence_job, self._model, sentence, random_weights, self.device_wish
        )
        self.jobs.start("run", work, self.show_run, until_drawn=True)

    def run_both(self, other: ModelSource) -> None:
        """Run the typed sentence through the open model, and through another one as baseline."""
        if self._model is None or self.run_input.disabled_reason:
            return
        self._prefetcher.load_qt_types()
        sentence, random_weights = self.run_input.sentence, self.run_input.random_weights
        work = partial(
            model_jobs.run_both_job, self._model, other, sentence, random_weights, self.device_wish
        )
        self.jobs.start("run", work, self._on_both, until_drawn=True)

    def run_next(self) -> None:
        """Run the typed sentence, unless something is missing."""
        if not self.run_input.disabled_reason:
            self.run_sentence(self.run_input.sentence, self.run_input.random_weights)

    def check(self, path: str) -> None:
        """Verify the output of the module at ``path`` in the last run, unless a job is running."""
        if self._model is None or self.runs.current is None or self.jobs.activity:
            return
        work = partial(model_jobs.check_module_job, self._model, self.runs.current, path)
        self.jobs.start("check", work, partial(self.runs.set_check, self.runs.current, path))

    def prepare_drawing(self) -> None:
        """Load what the worker may use when it draws figures."""
        self._prefetcher.load_qt_types()

    def export(self, write: "ModelWork[Path]") -> None:
        """Write a report of the open model by ``write``, which returns its path."""
        if self._model is None:
            return
        self.prepare_drawing()
        work = partial(write, self._model)
        self.jobs.start("export", work, lambda written: self.exported.emit(str(written)))

    def run_corpus(
        self,
        work: "ModelWork[Corpus | UserError]",
        returned: "Callable[[Corpus | UserError], None]",
    ) -> None:
        """Run a corpus through the open model by ``work``."""
        if self._model is not None:
            self.jobs.start("corpus", partial(work, self._model), returned)

    def save_runs(self, path: Path) -> None:
        """Write the last run and the baseline to a file."""
        if self._model is None or (kept := self.runs.kept()) is None:
            return
        work = partial(model_jobs.write_runs_job, path, self._model, kept, self.models)
        self.jobs.start("save", work, lambda written: self.saved.emit(str(written)))

    def export_modules(self, path: Path) -> None:
        """Write the modules of the open model as CSV."""
        if self.architecture is None:
            return
        work = partial(model_jobs.write_modules_job, path, self.architecture, self.models)
        self.jobs.start("save", work, lambda written: self.saved.emit(str(written)))

    def guard(self, *models: ModelSource) -> None:
        """Protect the files of these models from being overwritten."""
        self.models = tuple(dict.fromkeys((*self.models, *models)))

    def _on_opened(self, opened: model_jobs.Opened) -> None:
        self._model = self.jobs.model = model = opened.model
        if not model.source.is_same_model(self.source):
            self.history.forget()
        self.source, self.remote = model.source, model.remote
        self.guard(model.source)
        self._prefetcher.begin(model)
        self._show(opened)
        if opened.saved is not None:
            saved = self.runs.take_saved(opened.saved, model.source.name)
            self.show_run(model_jobs.Ran(saved, None))
            self.runs.take_checks(opened.saved)
        self._prefetcher.start()

    def _show(self, opened: model_jobs.Opened) -> None:
        """Show another model, or its corrected structure, and derive its formulas."""
        model = opened.model
        had_baseline = self.runs.baseline is not None
        self.runs.clear()
        self.architecture, self.keys = model.architecture, model.load_report
        self.heads = model.tasks
        self._prefetcher.derive(model)
        self.selection.set_tree(opened.tree)
        self.jobs.forget_requests()
        self.random_heads = None
        self.run_input.set_model(model.source, model.architecture)
        self.architecture_changed.emit(model.architecture)
        if had_baseline:
            self.runs.comparison_changed.emit()
        self.runs.run_changed.emit()

    def show_run(self, ran: model_jobs.Ran) -> None:
        """Replace the last run."""
        from bertviewer.core.analysis.predictions import mask_positions

        if ran.corrected is not None:
            self._show(ran.corrected)
        self.views_ready.emit()
        watched, run = ran.watched, ran.watched.run
        # A mask is selected, or else the first word rather than [CLS].
        words = [place for place, token in enumerate(run.tokens) if not token.is_special]
        masks = mask_positions(run, self.architecture) if self.architecture is not None else ()
        self.selection.set_tokens(len(run.tokens), next(iter((*masks, *words)), 0))
        self.runs.set_run(watched)
        self.run_input.take_over(run, is_saved=watched.capture is None)
        if self.architecture is not None and watched.capture is not None:
            # The first run may have initialized random weights, which everything must show.
            self.architecture = replace(self.architecture, source=run.source)
        if self.keys is not None:
            # Loading may have found more tensors missing than their names had shown.
            self.keys = replace(self.keys, missing=run.source.random_tensors)
        self.runs.run_changed.emit()

    def _on_both(self, both: model_jobs.RanBoth) -> None:
        self.show_run(both.ran)
        self.runs.keep(both.baseline)

    def _on_libraries(self, devices: tuple[Device, ...]) -> None:
        self.devices = devices
        self.devices_changed.emit()

    def _on_confirmed(self, corrected: model_jobs.Opened | None) -> None:
        if corrected is not None:
            self._show(corrected)
        if self.keys is not None:
            self._heads.want(self.source, model_jobs.random_heads_job)
        self.confirmed.emit()

    def _on_heads(self) -> None:
        self.random_heads = self._heads.result or {}
        self.heads_known.emit()

    def _on_derived(self, derived: model_jobs.Derived) -> None:
        self.architecture = derived.architecture
        self.selection.exchange_tree(derived.tree)
        self.formulas_changed.emit()
