"""The one accessor to ``resources/``: from a checkout and from an installed wheel alike."""

from functools import cache
from pathlib import Path


@cache
def resources_folder() -> Path:
    """Return the folder with presets, icons and the report's template.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "resources", package.parent / "resources"):
        if (folder / "presets").is_dir():
            return folder
    raise FileNotFoundError(f"the resource folder of {package} is missing")
