"""Top bar: model chip, path, search field and buttons; and the banners below it."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QIcon, QKeySequence, QMouseEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.theme import DARK, GRID
from bertviewer.ui.actions.action_set import ActionSet
from bertviewer.ui.docks.dock import PaneName
from bertviewer.ui.docks.panes import Panes
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.shell.model_chip import ModelChip
from bertviewer.ui.state.selection import History
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.theme.icons import put_icon
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import Gap, hbox, vbox

HEIGHT = 46  # pixels
_EXPANDING = QSizePolicy.Policy.Expanding
_LOGO = 24


class TopBar(QToolBar):
    """A bar that cannot be moved or hidden: without it the window's menus could not be found.

    Args:
        workspace: the state that it follows.
        icon: the program's icon.
        actions: the window's actions, whose menus are behind the menu button.
        model_menu: names of the entries in the menu of the model chip.
        path: widgets in the middle.
        panes: the panes that its buttons show and hide.
        toggle_theme: switches between light and dark.
    """

    def __init__(  # noqa: PLR0917
        self,
        workspace: Workspace,
        icon: QIcon,
        actions: ActionSet,
        model_menu: Sequence[str],
        path: Sequence[QWidget],
        panes: Panes,
        toggle_theme: Callable[[], None],
    ) -> None:
        super().__init__()
        self.setObjectName("topBar")
        self.ensurePolished()  # Qt asks for its margin before that
        self.setWindowTitle(self.tr("Toolbar"))
        self.setMovable(False)
        self.setFloatable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        logo = QLabel()
        logo.setPixmap(icon.pixmap(QSize(_LOGO, _LOGO), self.devicePixelRatio()))
        self._theme = flat_button("themeButton", "", self.tr("Switch theme"), "moon")
        self._theme.clicked.connect(toggle_theme)
        self._menu = flat_button("menuButton", "", self.tr("Menu (F10)"), "menu")
        self._menu.setShortcut("F10")
        menu, models = QMenu(self), QMenu(self)
        for each in actions.menus:
            menu.addMenu(each)
        actions.offer(models, model_menu)
        self._menu.setMenu(menu)
        self._menu.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        for action in menu.actions():
            self._open_by_letter(action)
        self._export = QPushButton(self.tr("Export…"))
        self._export.setObjectName("exportButton")
        self._export.setProperty("accented", True)
        self._export.setToolTip(self.tr("Export the report (Ctrl+E)"))
        export = actions.action("exportPdf")
        self._export.clicked.connect(export.trigger)
        self._export.setEnabled(export.isEnabled())
        export.enabledChanged.connect(self._export.setEnabled)
        content = QWidget()
        content.setFixedHeight(HEIGHT)
        layout = hbox(
            logo,
            ModelChip(workspace, models),
            Gap(2 * GRID),
            parent=content,
            margins=(3 * GRID, 0, 3 * GRID, 0),
            spacing=2 * GRID,
        )
        for widget in path:
            layout.addWidget(widget, int(widget.sizePolicy().horizontalPolicy() == _EXPANDING))
        for button in (_pane_buttons(panes), self._theme, self._menu, self._export):
            layout.addWidget(button)
        self.addWidget(content)
        self._show_theme()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_theme"):
            self._show_theme()

    def _show_theme(self) -> None:
        """Show the theme that the button switches to."""
        is_dark = theme_of(self) is DARK
        put_icon(self._theme, "sun" if is_dark else "moon")
        tip = self.tr("Switch to light theme") if is_dark else self.tr("Switch to dark theme")
        self._theme.setToolTip(tip)
        self._theme.setAccessibleName(tip)

    def _open_by_letter(self, action: QAction) -> None:
        """Open a menu by Alt and its mnemonic, as a visible menu bar would."""
        menu, keys = action.menu(), QKeySequence.mnemonic(action.text())
        if isinstance(menu, QMenu) and not keys.isEmpty():
            below = self._menu.rect().bottomLeft
            QShortcut(keys, self, lambda: menu.popup(self._menu.mapToGlobal(below())))


class HistoryButtons(QWidget):
    """Back and forward; the window also goes there by the mouse's fourth and fifth buttons."""

    def __init__(self, history: History, back_tip: str, forward_tip: str) -> None:
        super().__init__()
        self._history = history
        self._back = flat_button("backButton", "", back_tip, "back")
        self._forward = flat_button("forwardButton", "", forward_tip, "forward")
        self._back.clicked.connect(history.back)
        self._forward.clicked.connect(history.forward)
        hbox(self._back, self._forward, parent=self, spacing=0)
        history.changed.connect(self._update)
        self._update()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Of the window's mouse events: tables and plots would accept them.
        if (handle := self.window().windowHandle()) is not None:
            handle.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        presses = QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick
        if event.type() in presses and isinstance(event, QMouseEvent):
            if event.button() == Qt.MouseButton.BackButton:
                self._history.back()
                return True
            if event.button() == Qt.MouseButton.ForwardButton:
                self._history.forward()
                return True
        return super().eventFilter(watched, event)

    def _update(self) -> None:
        # A button that is disabled loses the focus, which would go anywhere.
        self._back.setEnabled(self._history.can_go_back or self._back.hasFocus())
        self._forward.setEnabled(self._history.can_go_forward or self._forward.hasFocus())


def _pane_buttons(panes: Panes) -> QWidget:
    """Return a button for each pane, which shows or hides it."""
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
    """The visible banners, one below the other."""

    def __init__(self, *banners: QWidget) -> None:
        super().__init__()
        self.setObjectName("bannerBar")
        self.ensurePolished()
        self.setWindowTitle(self.tr("Banner"))
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        # A toolbar shows and hides its own widgets, so the banners are inside another one.
        place = QWidget()
        vbox(*banners, parent=place, spacing=0)
        self._banners = banners
        for banner in banners:
            banner.installEventFilter(self)
        self.addWidget(place)
        self.setVisible(True)

    @override
    def setVisible(self, visible: bool) -> None:
        # Hidden without a banner, also if a saved layout shows this bar.
        has_banner = not all(banner.isHidden() for banner in self._banners)
        super().setVisible(visible and has_banner)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.setVisible(True)
        return super().eventFilter(watched, event)
