"""Lines above everything, for as long as the model is open, that qualify its figures."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPushButton

from bertviewer.charts.theme import GRID
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import grown
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.theme.warning_frame import WarningFrame
from bertviewer.ui.widgets.labels import ElidedLabel, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named, vbox

_SHOW = QT_TRANSLATE_NOOP("NoticeBanner", "Show all…")
_SHOW_WHICH = QT_TRANSLATE_NOOP("RandomBanner", "Show which…")
NOTICE_WIDTH = 520


class Banner(WarningFrame):
    """A line in the warning's colour with a button that shows more."""

    def __init__(self, workspace: Workspace, name: str, action: str) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName(name)
        self._text = named(ElidedLabel(), f"{name}Text")
        self._text.setForegroundRole(WARNING)
        self._button = named(QPushButton(action), f"{name}Button")
        hbox((self._text, 1), self._button, parent=self, margins=(12, 5, 8, 5))
        self.hide()


class NoticeBanner(Banner):
    """The notices of the open model and of its last run; hidden if there are none."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, "noticeBanner", translate("NoticeBanner", _SHOW))
        self._notices: tuple[str, ...] = ()
        self._button.clicked.connect(self._show_all)
        workspace.architecture_changed.connect(self._update)
        workspace.formulas_changed.connect(self._update)  # what was skipped, and why
        workspace.runs.run_changed.connect(self._update)

    def _update(self) -> None:
        architecture, run = self._workspace.architecture, self._workspace.runs.run
        sources = (None if one is None else one.source for one in (architecture, run))
        every = (notice for source in sources if source is not None for notice in source.notices)
        notices = tuple(dict.fromkeys(every))
        self._notices = tuple(map(printable, notices))
        self.setVisible(bool(notices))
        if notices:
            more = len(notices) - 1
            also = count_text(more, self.tr("1 more: "), self.tr("{0} more: ")) if more else ""
            self._text.setText(f"{also}{self._notices[0]}")
            self._text.setToolTip(plain_tooltip("\n".join(self._notices)))

    def _show_all(self) -> None:
        dialog = QDialog(self.window())
        dialog.setObjectName("noticeDialog")
        dialog.setWindowTitle(self.tr("Notices about this model"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        label = named(plain_label("\n\n".join(self._notices)), "notices")
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(dialog.reject)
        room = 4 * GRID
        vbox(label, buttons, parent=dialog, margins=(room, room, room, room), spacing=room)
        dialog.setMinimumWidth(grown(NOTICE_WIDTH))
        dialog.open()


class RandomBanner(Banner):
    """How many tensors are random; hidden if the checkpoint has all of them."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, "randomBanner", translate("RandomBanner", _SHOW_WHICH))
        self._button.clicked.connect(self._show_report)
        workspace.architecture_changed.connect(self._update)
        workspace.runs.run_changed.connect(self._update)

    def _update(self) -> None:
        architecture = self._workspace.architecture
        random = () if architecture is None else architecture.source.random_tensors
        if architecture is not None and random:
            # Nothing is drawn before it is needed.
            before = (
                self.tr(
                    "1 of {1} tensors is missing from the checkpoint and will be "
                    "initialised randomly."
                ),
                self.tr(
                    "{0} of {1} tensors are missing from the checkpoint and will be "
                    "initialised randomly."
                ),
            )
            after = (
                self.tr(
                    "1 of {1} tensors is missing from the checkpoint and was initialised "
                    "randomly: results that use it are not meaningful."
                ),
                self.tr(
                    "{0} of {1} tensors are missing from the checkpoint and were "
                    "initialised randomly: results that use them are not meaningful."
                ),
            )
            words = before if self._workspace.runs.run is None else after
            text = count_text(len(random), *words, architecture.tensor_count)
            self._text.setText(text)
            self._text.setToolTip(text)
        self._button.setVisible(self._workspace.keys is not None)
        self.setVisible(bool(random))

    def _show_report(self) -> None:
        if self._workspace.keys is not None:
            from bertviewer.ui.checkpoint.load_report_dialog import show_key_report

            show_key_report(self._workspace.keys, self._workspace, self.window())
