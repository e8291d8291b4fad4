"""The window's language: what translates texts, and what marks those in tables for it."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QTranslator

from bertviewer.charts.translation import speak
from bertviewer.core.util.files import resources_folder


def install_translations(
    application: QCoreApplication, languages: Sequence[str], folder: Path | None = None
) -> None:
    """Have the program speak the first of these languages that it has: English, or a catalogue's.

    Qt's own words, those of its dialogs, come in the same language.

    Args:
        application: what the texts are shown by.
        languages: as ``QLocale.uiLanguages()`` has them ("zh-Hans-CN", "zh"), the dearest first.
        folder: where the catalogues are, ``None`` for those that come with the program.
    """
    where = resources_folder() / "translations" if folder is None else folder
    for language in languages:
        name = language.replace("-", "_")
        if name.partition("_")[0] == "en":
            return
        catalogue = where / f"bertviewer_{name}.qm"
        if not catalogue.is_file():
            continue
        qt_words = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
        for file in (qt_words / f"qtbase_{name}.qm", catalogue):
            translator = QTranslator(application)
            if translator.load(str(file)):
                application.installTranslator(translator)
        speak(translate)
        return


def translate(context: str, text: str) -> str:
    """Return a text in the language of the program, English if nothing translates it."""
    return QCoreApplication.translate(context, text)


def QT_TRANSLATE_NOOP(context: str, text: str) -> str:
    """Return ``text``; Qt's lupdate finds it by this function's name.

    PySide6's own function is declared to return any object.
    """
    return text
