"""Asks before pickled weights are read: says what is in them, and remembers who agreed to what."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, QSettings, Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.ui.settings.settings import store
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import named

if TYPE_CHECKING:
    from bertviewer.core.pickles.consent import PickleReview

SETTING = "allowedPickles"
REMEMBERED = 200


class WeightsConsent(QObject):
    """Hands models on to what opens them; one whose weights are a pickle after it was agreed to."""

    def __init__(
        self, workspace: Workspace, window: QWidget, use: Callable[[ModelSource], None]
    ) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._use = use

    def ask(self, source: ModelSource) -> None:
        """Hand a model on, or look into its pickle first and ask."""
        if source.kind != "pickle" or source.pickle_allowed:
            self._use(source)
            return
        from bertviewer.core.pickles.consent import review

        work = partial(review, source.path)
        self._workspace.scheduler.start("examine", work, partial(self._on_examined, source))

    def _on_examined(self, source: ModelSource, examined: "PickleReview") -> None:
        if not examined.refusal and examined.key in _allowed():
            self._use(replace(source, pickle_allowed=True))
        else:
            self._ask(source, examined)

    def _ask(self, source: ModelSource, examined: "PickleReview") -> None:
        box = named(QMessageBox(self._window), "consentDialog")
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle(self.tr("Pickled weights"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(self._text(source, examined))
        box.setInformativeText(self._explanation(examined))
        box.setDetailedText(self._details(examined))
        answers: dict[object, Callable[[], None]] = {}
        if not examined.refusal:
            read = box.addButton(self.tr("&Read the tensors"), QMessageBox.ButtonRole.AcceptRole)
            answers[read] = partial(self._agree, source, examined.key)
        if source.config_file is not None:
            plain = box.addButton(self.tr("&Architecture only"), QMessageBox.ButtonRole.ActionRole)
            answers[plain] = partial(self._use, source)
        cancel = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(cancel)
        box.setEscapeButton(cancel)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.buttonClicked.connect(lambda button: answers.get(button, _nothing)())
        box.open()

    def _agree(self, source: ModelSource, key: str) -> None:
        store(SETTING, [*_allowed(), key][-REMEMBERED:])
        self._use(replace(source, pickle_allowed=True))

    def _text(self, source: ModelSource, examined: "PickleReview") -> str:
        if examined.refusal:
            return self.tr("The weights of {0} were rejected").format(source.name)
        return self.tr("Read the pickled weights of {0}?").format(source.name)

    def _explanation(self, examined: "PickleReview") -> str:
        danger = self.tr("A pickle is a small program: loading it can run arbitrary code.")
        if examined.refusal:
            return f"{danger}\n\n{examined.refusal}."
        found = self.tr("This one was inspected without running it: it requests only tensors.")
        how = self.tr(
            "If you agree, a separate process with memory and time limits reads the "
            "weights and saves them as safetensors in your cache. You are asked only once "
            "for this content."
        )
        return f"{danger}\n\n{found}\n\n{how}"

    def _details(self, examined: "PickleReview") -> str:
        lines = [f"{file.file}  {file.nbytes / 1e6:,.1f} MB" for file in examined.files]
        names = sorted({name for file in examined.files for name in file.globals})
        lines += ["", f"SHA-256 {examined.key}", "", self.tr("It requests:"), *names]
        return "\n".join(lines)


def _allowed() -> list[str]:
    stored = QSettings().value(SETTING)
    # A list of one comes back as its one text.
    return list(map(str, stored)) if isinstance(stored, list) else [str(stored or "")]


def _nothing() -> None:
    """Cancelled: what is open stays open."""
