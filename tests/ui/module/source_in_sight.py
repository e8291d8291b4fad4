"""A short source, and the tab with the source of a module in sight."""

from bertviewer.ui.module.source_tab import SourceTab
from bertviewer.ui.module.source_view import SourceView
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find, show_tab

CODE = '''@decorated
class Kind(Base):
    """Two
    lines."""

    def run(self, x):
        return x @ 2  # why
'''


def source_tab(window: MainWindow) -> tuple[SourceTab, SourceView]:
    show_tab(window, "Source")
    return find(window, SourceTab), find(window, SourceView, "sourceView")
