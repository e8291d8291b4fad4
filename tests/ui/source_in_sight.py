"""A short source, and the tab with the source of a module in sight."""

from PySide6.QtWidgets import QTabWidget

from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.source_tab import SourceTab
from bertviewer.ui.source_view import SourceView
from tests.ui.finding import find

CODE = '''@decorated
class Kind(Base):
    """Two
    lines."""

    def run(self, x):
        return x @ 2  # why
'''


def source_tab(window: MainWindow) -> tuple[SourceTab, SourceView]:
    tabs = find(window, QTabWidget, "detailTabs")
    titles = [tabs.tabText(index) for index in range(tabs.count())]
    tabs.setCurrentIndex(titles.index("Source"))
    page = tabs.currentWidget()
    assert isinstance(page, SourceTab)
    return page, find(window, SourceView, "sourceView")
