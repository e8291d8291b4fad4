"""Banners above the views that qualify the results of the open model."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPushButton

from bertviewer.charts.theme import GRID
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import grown
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.theme.warning_frame import WarningFrame
from bertviewer.ui.widgets.labels import ElidedLabel, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named, vbox

NOTICE_WIDTH = 520


class Banner(WarningFrame):
    """A line in the warning colour, and a button that shows more; hidden without a text."""

    def __init__(self, workspace: Workspace, name: str, action: str) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName(name)
        self._text = named(ElidedLabel(), f"{name}Text")
        self._text.setForegroundRole(WARNING)
        self._button = named(QPushButton(action), f"{name}Button")
        self._button.clicked.connect(self._show_details)
        hbox((self._text, 1), self._button, parent=self, margins=(12, 5, 8, 5))
        self.hide()
        workspace.architecture_changed.connect(self._update)
        workspace.formulas_changed.connect(self._update)
        workspace.runs.run_changed.connect(self._update)

    def _update(self) -> None:
        raise NotImplementedError

    def _show_details(self) -> None:
        raise NotImplementedError

    def _show_text(self, text: str, tip: str) -> None:
        self._text.setText(text)
        self._text.setToolTip(tip)
        self.setVisible(bool(text))


class NoticeBanner(Banner):
    """The notices of the open model and of its last run."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, "noticeBanner", translate("NoticeBanner", "Show all…"))
        self._notices: tuple[str, ...] = ()

    def _update(self) -> None:
        architecture, run = self._workspace.architecture, self._workspace.runs.run
        sources = (None if one is None else one.source for one in (architecture, run))
        notices = (notice for source in sources if source is not None for notice in source.notices)
        self._notices = tuple(map(printable, dict.fromkeys(notices)))
        more = len(self._notices) - 1
        also = count_text(more, self.tr("1 more: "), self.tr("{0} more: ")) if more > 0 else ""
        first = self._notices[0] if self._notices else ""
        self._show_text(f"{also}{first}", plain_tooltip("\n".join(self._notices)))

    def _show_details(self) -> None:
        dialog = QDialog(self.window())
        dialog.setObjectName("noticeDialog")
        dialog.setWindowTitle(self.tr("Notices about this model"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        label = named(plain_label("\n\n".join(self._notices)), "notices")
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(dialog.reject)
        margin = 4 * GRID
        margins = margin, margin, margin, margin
        vbox(label, buttons, parent=dialog, margins=margins, spacing=margin)
        dialog.setMinimumWidth(grown(NOTICE_WIDTH))
        dialog.open()


class RandomBanner(Banner):
    """The number of random tensors of a pretrained model."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, "randomBanner", translate("RandomBanner", "Show which…"))

    def _update(self) -> None:
        architecture = self._workspace.architecture
        random = () if architecture is None else architecture.source.random_tensors
        text = ""
        if architecture is not None and random:
            # They are initialised by the first run.
            texts = (
                self.tr(
                    "1 of {1} tensors is missing from the checkpoint and will be "
                    "initialised randomly."
                ),
                self.tr(
                    "{0} of {1} tensors are missing from the checkpoint and will be "
                    "initialised randomly."
                ),
            )
            if self._workspace.runs.run is not None:
                texts = (
                    self.tr(
                        "1 of {1} tensors is missing from the checkpoint and was initialised "
                        "randomly: results that use it are not meaningful."
                    ),
                    self.tr(
                        "{0} of {1} tensors are missing from the checkpoint and were "
                        "initialised randomly: results that use them are not meaningful."
                    ),
                )
            text = count_text(len(random), *texts, architecture.tensor_count)
        self._button.setVisible(self._workspace.keys is not None)
        self._show_text(text, text)

    def _show_details(self) -> None:
        if self._workspace.keys is not None:
            from bertviewer.ui.checkpoint.load_report import show_load_report

            show_load_report(self._workspace.keys, self._workspace, self.window())
