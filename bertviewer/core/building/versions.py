"""Versions that derived data depends on, found without importing torch or transformers."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from bertviewer import __version__

FORMAT = 16
"""Raise it whenever derived or stored data changes: counts, costs, flows, formulas, their encoding.

Data of another format is derived again. The variable ``BERTVIEWER_NO_CACHE`` ignores all of it.
"""


@cache
def versions() -> dict[str, str]:
    """Return the versions of this program and of the libraries that build and run models.

    Without a local part such as ``+cpu``: all builds of a library have the same modules.
    """
    libraries = ("torch", "transformers")
    found = {package: _version(package).partition("+")[0] for package in libraries}
    return {"bertviewer": f"{__version__} format {FORMAT}", **found}


def _version(package: str) -> str:
    """Return a package's version, ``""`` if unknown.

    Read from the name of its metadata folder: importlib.metadata takes longer than reading a model.
    """
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:
        names = [path.stem for path in Path(spec.origin).parents[1].glob(f"{package}-*.dist-info")]
        if len(names) == 1:
            return names[0].removeprefix(f"{package}-")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:  # a bundle made without metadata
        return ""
