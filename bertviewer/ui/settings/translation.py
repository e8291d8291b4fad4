"""Translation of texts, and the mark for texts in tables."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QTranslator

from bertviewer.charts.translation import speak
from bertviewer.core.util.files import resources_folder


def install_translations(
    application: QCoreApplication, languages: Sequence[str], folder: Path | None = None
) -> None:
    """Install the first of these languages that is English or has a catalogue, also for Qt's texts.

    Args:
        application: the application.
        languages: as in ``QLocale.uiLanguages()`` ("zh-Hans-CN", "zh"), the preferred one first.
        folder: the folder of the catalogues, ``None`` for the installed ones.
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
    """Return a text in the installed language, or in English without a translation."""
    return QCoreApplication.translate(context, text)


def QT_TRANSLATE_NOOP(context: str, text: str) -> str:
    """Return ``text``; Qt's lupdate finds it by this function's name.

    PySide6's own function is declared to return any object.
    """
    return text
