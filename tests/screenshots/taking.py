"""Takes the pictures of one chapter."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from PySide6.QtWidgets import QApplication

from bertviewer.ui.app.application import configure, leave
from tests.screenshots.chapter import Chapter
from tests.screenshots.gallery import CHAPTERS, README
from tests.screenshots.guide import Guide


def take(name: str, folder: str) -> None:
    """Take the pictures of the chapter of that name into a folder."""
    chapter = next(each for each in (*CHAPTERS, README) if each.name == name)
    picture = Guide.picture if chapter.is_numbered else Guide.plain_picture
    take_chapter(chapter, Path(folder), picture)


def take_chapter(chapter: Chapter, folder: Path, save: Callable[[Guide, str], None]) -> NoReturn:
    """Take the pictures of a chapter into a folder, and end this process."""
    application = QApplication([])
    application.setCursorFlashTime(0)
    configure(application)
    guide = Guide(application, folder)
    for step in chapter.begins:
        step(guide)
    guide.rest()
    shown, taken = "light", None
    for picture, size, theme, file in chapter.files():
        if picture is not taken:
            guide.tidy()
        if theme != shown:
            guide.window.set_appearance(theme)
            shown = theme
        guide.resize(size)
        if picture is not taken:
            for step in picture.steps:
                step(guide)
            taken = picture
        save(guide, file)
    guide.tidy()
    guide.close()
    leave(0)  # without finalization, as the program does
