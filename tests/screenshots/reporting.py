"""Steps of the gallery for the report."""

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import (
    QAbstractButton,
)

from bertviewer.ui.export.pages_view import PagesView
from bertviewer.ui.export.settings import SETTING
from tests.screenshots.chapter import Step
from tests.screenshots.guide import Guide


def exported(guide: Guide) -> None:
    """Write the report."""
    guide.window.exporting.write_report(guide.folder / "report.pdf")


def reported(guide: Guide) -> None:
    """Open the report's dialog, and wait for its pages."""
    guide.window.exporting.choose_report()
    guide.wait(lambda: guide.find(PagesView, "reportPages").is_drawn)


def paged(number: int) -> Step:
    """Go to a page of the report, counted from 1."""

    def step(guide: Guide) -> None:
        guide.rest()
        pages = guide.find(PagesView, "reportPages")
        pages.go_to(number - 1)
        guide.wait(lambda: pages.is_drawn)

    return step


def picked(name: str) -> Step:
    """Check a box; the choice, which the dialog stores, is removed after the picture."""

    def step(guide: Guide) -> None:
        box = guide.find(QAbstractButton, name)
        box.click()
        guide.ends.append(lambda: QSettings().remove(SETTING))

    return step
