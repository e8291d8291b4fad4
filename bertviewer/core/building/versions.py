"""The versions that decide what a model looks like, without importing what they are of."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from bertviewer import __version__

FORMAT = 14
"""To be raised whenever what is derived changes, within one version of the program too.

That is what is kept of a model: counts, costs, flows, formulas, and how they are written. What
was seen under another number is derived anew. ``models.NO_CACHE`` does without all that was seen.
"""


@cache
def versions() -> dict[str, str]:
    """Return the versions of this program and of the libraries that build and run models.

    What stands after a plus, as in ``2.13.0+cpu``, says how a library was built: the same modules
    come of all builds.
    """
    libraries = ("torch", "transformers")
    found = {package: _version(package).partition("+")[0] for package in libraries}
    return {"bertviewer": f"{__version__} format {FORMAT}", **found}


def _version(package: str) -> str:
    """Return a package's version, empty if it is not known.

    The folder of its metadata has it in its name. To have importlib read what is inside takes
    longer than to read a model.
    """
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:
        names = [path.stem for path in Path(spec.origin).parents[1].glob(f"{package}-*.dist-info")]
        if len(names) == 1:
            return names[0].removeprefix(f"{package}-")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:  # as in a bundle that was made without its metadata
        return ""
