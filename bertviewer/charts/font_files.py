"""Where the files of the program's fonts are, for screen and paper alike."""

from importlib.util import find_spec
from pathlib import Path

_PACKAGES = (
    ("fontpkg_inter", "Inter[opsz,wght].ttf"),
    ("fontpkg_jetbrains_mono", "JetBrainsMono[wght].ttf"),
)
FONT_FILES = tuple(file for _, file in _PACKAGES)


def font_folders() -> list[Path]:
    """Return the folders of the fonts' files, as far as they are installed."""
    specs = (find_spec(package) for package, _ in _PACKAGES)
    places = (
        folder for spec in specs for folder in (spec and spec.submodule_search_locations) or ()
    )
    return [Path(folder) / "files" for folder in places]
