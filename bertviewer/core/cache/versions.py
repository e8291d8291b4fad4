"""The versions that decide what a model looks like, without importing what they are of."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from bertviewer import __version__

FORMAT = 4
"""To be raised whenever what is derived changes, within one version of the program too."""


@cache
def versions() -> dict[str, str]:
    """Return the versions of this program and of the libraries that build and run models.

    What stands after a plus, as in ``2.13.0+cpu``, says how a library was built: the same modules
    come of all builds.
    """
    found = {"bertviewer": f"{__version__} format {FORMAT}"}
    for package in ("torch", "transformers"):
        try:
            found[package] = version(package).partition("+")[0]
        except PackageNotFoundError:  # as in a bundle that was made without its metadata
            found[package] = ""
    return found
