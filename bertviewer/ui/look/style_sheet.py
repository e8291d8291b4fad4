"""The style sheet of all controls, made of the table of colours and space."""

from bertviewer.charts.theme import DARK, RADIUS, Theme, mixed
from bertviewer.core.system.resources import resources_folder


def style_sheet(theme: Theme) -> str:
    """Return what Qt draws controls by: no bevels, lines of one pixel, one accent."""
    icons = (resources_folder() / "icons" / "lines").as_posix()
    check = f"{icons}/check-{'dark' if theme is DARK else 'light'}.svg"
    handle, handle_hover = (mixed(theme.text, theme.surface, share) for share in (0.18, 0.35))
    pressed = mixed(theme.text, theme.surface, 0.10)
    accent_hover = mixed(theme.accent, theme.text, 0.88)
    return f"""
QMainWindow, QDialog {{ background: {theme.background}; }}
QToolTip {{
    background: {theme.text}; color: {theme.surface};
    border: 1px solid {theme.text}; padding: 4px 6px;
}}

QPushButton, QComboBox {{
    background: {theme.surface}; color: {theme.text};
    border: 1px solid {theme.line}; border-radius: {RADIUS}px; padding: 4px 10px; min-height: 18px;
}}
QPushButton {{ padding: 4px 14px; }}
QPushButton:hover, QComboBox:hover {{ background: {theme.hover}; }}
QPushButton:pressed, QPushButton:checked {{ background: {pressed}; }}
QPushButton:focus, QComboBox:focus {{ border: 1px solid {theme.accent}; }}
QPushButton:disabled, QComboBox:disabled {{ color: {theme.disabled}; background: transparent; }}
QPushButton:default, QPushButton[accented="true"] {{
    background: {theme.accent}; color: {theme.on_accent}; border-color: {theme.accent};
}}
QPushButton:default:hover, QPushButton[accented="true"]:hover {{ background: {accent_hover}; }}
QPushButton:default:focus, QPushButton[accented="true"]:focus {{ border: 1px solid {theme.text}; }}
QPushButton:default:disabled, QPushButton[accented="true"]:disabled {{
    background: {theme.field}; color: {theme.disabled}; border-color: {theme.line};
}}
QComboBox::drop-down {{ border: none; width: 20px; }}
QComboBox::down-arrow {{ image: url("{icons}/chevron-down.svg"); width: 12px; height: 12px; }}
QComboBox QAbstractItemView, QTableView#treeFilterOffers {{
    background: {theme.surface}; border: 1px solid {theme.line}; outline: none;
}}

QToolButton {{
    background: transparent; color: {theme.text}; border: 1px solid transparent;
    border-radius: {RADIUS}px; padding: 3px 6px;
}}
QToolButton:hover {{ background: {theme.hover}; }}
QToolButton:pressed {{ background: {pressed}; }}
QToolButton:checked {{ background: {theme.selection}; }}
QToolButton:focus {{ border-color: {theme.accent}; }}
QToolButton:disabled {{ color: {theme.disabled}; }}
QToolButton::menu-indicator {{ image: none; }}

QLineEdit, QPlainTextEdit, QSpinBox, QDoubleSpinBox {{
    background: {theme.surface}; color: {theme.text};
    border: 1px solid {theme.line}; border-radius: {RADIUS}px; padding: 4px 8px; min-height: 18px;
    selection-background-color: {theme.accent}; selection-color: {theme.on_accent};
}}
QLineEdit:hover, QSpinBox:hover, QDoubleSpinBox:hover {{ border-color: {handle}; }}
QLineEdit:focus, QPlainTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus {{
    border-color: {theme.accent};
}}
QAbstractSpinBox {{ padding-right: 20px; }}
QLineEdit {{ lineedit-clear-button-icon: url("{icons}/clear.svg"); }}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{
    subcontrol-origin: border; width: 18px; border: none; background: transparent;
}}
QAbstractSpinBox::up-button {{ subcontrol-position: top right; }}
QAbstractSpinBox::down-button {{ subcontrol-position: bottom right; }}
QAbstractSpinBox::up-arrow {{ image: url("{icons}/chevron-up.svg"); }}
QAbstractSpinBox::down-arrow {{ image: url("{icons}/chevron-down.svg"); }}
QAbstractSpinBox::up-arrow, QAbstractSpinBox::down-arrow {{ width: 10px; height: 10px; }}
QLineEdit:disabled {{ background: {theme.background}; color: {theme.disabled}; }}

QCheckBox, QRadioButton {{ spacing: 6px; }}
QCheckBox::indicator, QListView::indicator {{
    width: 14px; height: 14px; border-radius: 4px;
    border: 1px solid {theme.muted}; background: {theme.surface};
}}
QCheckBox::indicator:hover, QCheckBox::indicator:focus {{ border-color: {theme.accent}; }}
QCheckBox::indicator:checked, QListView::indicator:checked {{
    background: {theme.accent}; border-color: {theme.accent}; image: url("{check}");
}}
QCheckBox::indicator:disabled, QListView::indicator:disabled {{ border-color: {theme.line}; }}
QCheckBox::indicator:checked:disabled, QListView::indicator:checked:disabled {{
    background: {theme.disabled}; border-color: {theme.disabled};
}}
QCheckBox:focus {{ color: {theme.accent}; }}

QSlider::groove:horizontal {{ height: 4px; border-radius: 2px; background: {pressed}; }}
QSlider::sub-page:horizontal {{ border-radius: 2px; background: {theme.accent}; }}
QSlider::handle:horizontal {{
    width: 12px; margin: -5px 0; border-radius: 7px;
    background: {theme.surface}; border: 1px solid {theme.muted};
}}
QSlider::handle:horizontal:focus, QSlider::handle:horizontal:hover {{
    border-color: {theme.accent};
}}

QTabWidget::pane {{ border: none; border-top: 1px solid {theme.line}; }}
QTabBar {{ qproperty-drawBase: 0; }}
QTabBar::tab {{
    background: transparent; color: {theme.muted};
    border: none; border-bottom: 2px solid transparent; padding: 7px 6px 6px 6px;
}}
QTabBar::tab:hover {{ color: {theme.text}; }}
QTabBar::tab:selected {{ color: {theme.text}; border-bottom-color: {theme.accent}; }}
QTabBar::tab:selected:focus {{ background: {theme.selection}; }}
QTabBar::tab:disabled {{ color: {theme.disabled}; }}

QHeaderView {{ background: {theme.surface}; border: none; }}
QHeaderView::section {{
    background: {theme.surface}; color: {theme.muted};
    border: none; border-bottom: 1px solid {theme.line}; padding: 4px 6px;
}}
QHeaderView::section:hover {{ color: {theme.text}; }}
QTableCornerButton::section {{ background: {theme.surface}; border: none; }}
QAbstractItemView {{ border: none; outline: none; }}
QTableView::item {{ padding: 0 3px; }}
QAbstractScrollArea {{ border: none; }}
QAbstractScrollArea::corner {{ background: transparent; border: none; }}
QTreeWidget::branch:has-children:closed {{ image: url("{icons}/chevron-right.svg"); }}
QTreeWidget::branch:has-children:open {{ image: url("{icons}/chevron-down.svg"); }}

QScrollBar {{ background: transparent; border: none; margin: 0; }}
QScrollBar:vertical {{ width: 10px; }}
QScrollBar:horizontal {{ height: 10px; }}
QScrollBar::handle {{ background: {handle}; border-radius: 3px; margin: 2px; }}
QScrollBar::handle:vertical {{ min-height: 28px; }}
QScrollBar::handle:horizontal {{ min-width: 28px; }}
QScrollBar::handle:hover, QScrollBar::handle:pressed {{ background: {handle_hover}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}

QSplitter::handle {{ background: {theme.line}; }}
QSplitter::handle:horizontal {{ width: 1px; }}
QSplitter::handle:vertical {{ height: 1px; }}
QSplitter::handle:hover {{ background: {theme.accent}; }}

QMainWindow::separator {{ background: {theme.line}; width: 1px; height: 1px; }}
QMainWindow::separator:hover {{ background: {theme.accent}; }}
QToolBar#topBar {{
    background: {theme.surface}; border: none; border-bottom: 1px solid {theme.line};
    padding: 0; spacing: 0;
}}
QToolBar#bannerBar {{ border: none; padding: 0; spacing: 0; }}
#breadcrumb QToolButton {{ padding: 3px 2px; }}
QToolButton#modelChip {{
    background: {theme.background}; border: 1px solid {theme.line}; padding: 0;
}}
QToolButton#modelChip:hover {{ background: {theme.hover}; }}
QToolButton#modelChip:focus {{ border-color: {theme.accent}; }}

QProgressBar {{ background: {pressed}; border: none; border-radius: 2px; }}
QProgressBar::chunk {{ background: {theme.accent}; border-radius: 2px; }}

QMenuBar {{ background: {theme.surface}; border-bottom: 1px solid {theme.line}; }}
QMenuBar::item {{ background: transparent; padding: 5px 9px; border-radius: 4px; }}
QMenuBar::item:selected {{ background: {theme.selection}; }}
QMenu {{ background: {theme.surface}; border: 1px solid {theme.line}; padding: 4px; }}
QMenu::item {{ padding: 5px 22px 5px 22px; border-radius: 4px; }}
QMenu::item:selected {{ background: {theme.selection}; color: {theme.text}; }}
QMenu::item:disabled {{ color: {theme.disabled}; }}
QMenu::right-arrow {{ image: url("{icons}/chevron-right.svg"); width: 12px; height: 12px; }}
QMenu::indicator {{ width: 14px; height: 14px; left: 4px; }}
QMenu::indicator:checked {{ image: url("{icons}/check.svg"); }}
QMenu::separator {{ height: 1px; background: {theme.line}; margin: 4px 6px; }}

QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
QMessageBox {{ messagebox-warning-icon: url("{icons}/warning.svg"); }}

QStatusBar {{ background: {theme.surface}; border-top: 1px solid {theme.line}; }}
QStatusBar::item {{ border: none; }}
QGroupBox {{ border: none; margin-top: 18px; }}
QGroupBox::title {{ subcontrol-origin: margin; left: 0; color: {theme.muted}; }}
"""
