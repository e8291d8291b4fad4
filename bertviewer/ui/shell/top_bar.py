"""The bar above everything: what is open, where one is, what can be found and done."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QIcon, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QWidget,
)

from bertviewer.charts.theme import DARK, GRID
from bertviewer.ui.docks.dock import PaneName
from bertviewer.ui.docks.panes import Panes
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.shell.model_chip import ModelChip
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.icons import put_icon
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import Gap, hbox, vbox

HEIGHT = 46
_EXPANDING = QSizePolicy.Policy.Expanding
_LOGO = 24


class BarParts(Struct, frozen=True):
    """What the bar is filled with: menus, and what its buttons do.

    Attributes:
        models: what the chip of the open model offers.
        menu: the window's menus.
        path: widgets that say where one is, and find what one looks for.
        panes: the panes that buttons show and hide.
        toggle_theme: makes a light window dark, and the other way round.
        export: shows the report, to be written.
    """

    models: QMenu
    menu: QMenu
    path: Sequence[QWidget]
    panes: Panes
    toggle_theme: Callable[[], None]
    export: Callable[[], None]


class TopBar(QToolBar):
    """A bar of one height that stays where it is."""

    def __init__(self, workspace: Workspace, icon: QIcon, parts: BarParts) -> None:
        super().__init__()
        self.setObjectName("topBar")
        self.ensurePolished()  # Qt asks for its margin before that
        self.setWindowTitle(self.tr("Toolbar"))
        self.setMovable(False)
        self.setFloatable(False)
        # Without it the window's menus could not be found any more.
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        logo = QLabel()
        logo.setPixmap(icon.pixmap(QSize(_LOGO, _LOGO), self.devicePixelRatio()))
        self._workspace = workspace
        self._theme = flat_button("themeButton", "", self.tr("Switch theme"), "moon")
        self._theme.clicked.connect(parts.toggle_theme)
        self._menu = flat_button("menuButton", "", self.tr("Menu (F10)"), "menu")
        self._menu.setShortcut("F10")
        self._menu.setMenu(parts.menu)
        self._menu.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        for action in parts.menu.actions():
            self._open_by_letter(action)
        self._export = QPushButton(self.tr("Export…"))
        self._export.setObjectName("exportButton")
        self._export.setProperty("accented", True)
        self._export.setToolTip(self.tr("Export the report (Ctrl+E)"))
        self._export.clicked.connect(parts.export)
        content = QWidget()
        content.setFixedHeight(HEIGHT)
        layout = hbox(
            logo,
            ModelChip(workspace, parts.models),
            Gap(2 * GRID),
            parent=content,
            margins=(3 * GRID, 0, 3 * GRID, 0),
            spacing=2 * GRID,
        )
        for widget in parts.path:
            layout.addWidget(widget, int(widget.sizePolicy().horizontalPolicy() == _EXPANDING))
        for button in (_pane_buttons(parts.panes), self._theme, self._menu, self._export):
            layout.addWidget(button)
        self.addWidget(content)
        self._show_theme()
        workspace.architecture_changed.connect(self._update)
        workspace.scheduler.activity_changed.connect(self._update)
        self._update()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the window's colours; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_theme"):
            self._show_theme()

    def _show_theme(self) -> None:
        """Show what a click on the theme's button leads to."""
        is_dark = theme_of(self) is DARK
        put_icon(self._theme, "sun" if is_dark else "moon")
        tip = self.tr("Switch to light theme") if is_dark else self.tr("Switch to dark theme")
        self._theme.setToolTip(tip)
        self._theme.setAccessibleName(tip)

    def _open_by_letter(self, action: QAction) -> None:
        """Open one of the menus by Alt and its letter, as a menu bar that is in sight would."""
        menu, keys = action.menu(), QKeySequence.mnemonic(action.text())
        if isinstance(menu, QMenu) and not keys.isEmpty():
            below = self._menu.rect().bottomLeft
            QShortcut(keys, self, lambda: menu.popup(self._menu.mapToGlobal(below())))

    def _update(self) -> None:
        """Offer the report of an open model, unless a run or a report is still going on."""
        workspace = self._workspace
        is_ready = workspace.architecture is not None and not workspace.scheduler.activity
        self._export.setEnabled(is_ready)


def _pane_buttons(panes: Panes) -> QWidget:
    """Return a button for each pane, which shows it, or hides it."""
    tips: dict[PaneName, str] = {
        "structure": translate("TopBar", "Show or hide the Structure panel (F6)"),
        "run": translate("TopBar", "Show or hide the Run panel"),
        "module": translate("TopBar", "Show or hide the Module panel (F7)"),
    }
    buttons = {
        name: flat_button(f"{name}Toggle", "", tip, f"pane-{name}") for name, tip in tips.items()
    }

    def update() -> None:
        for name, button in buttons.items():
            button.setEnabled(panes.are_shown)
            button.setChecked(panes.are_shown and not panes.dock(name).isHidden())

    for name, button in buttons.items():
        button.setCheckable(True)
        button.clicked.connect(partial(panes.toggle, name))
        button.clicked.connect(update)
    panes.shown_changed.connect(update)
    update()
    row = QWidget()
    hbox(*buttons.values(), parent=row, spacing=0)
    return row


class BannerBar(QToolBar):
    """A line below the bar for each banner that is visible."""

    def __init__(self, *banners: QWidget) -> None:
        super().__init__()
        self.setObjectName("bannerBar")
        self.ensurePolished()
        self.setWindowTitle(self.tr("Banner"))
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        # A toolbar shows and hides what stands in it by itself.
        place = QWidget()
        vbox(*banners, parent=place, spacing=0)
        self._banners = banners
        for banner in banners:
            banner.installEventFilter(self)
        self.addWidget(place)
        self.setVisible(True)

    def setVisible(self, visible: bool) -> None:
        """Stay hidden without a banner, also where a saved layout shows this bar; Qt calls it."""
        super().setVisible(visible and self._has_words)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Come and go with the banners; Qt calls it."""
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.setVisible(True)
        return super().eventFilter(watched, event)

    @property
    def _has_words(self) -> bool:
        return not all(banner.isHidden() for banner in self._banners)
