"""Optional packages and system libraries, and the commands that install them."""

import subprocess
import sys
from importlib.util import find_spec

EXTRAS = {
    "corpus": ("pyarrow>=17",),
    "sentencepiece": ("protobuf>=4.25", "sentencepiece>=0.2"),
}
"""The requirements of each extra, as in pyproject.toml; bertviewer is in no package index."""

DEBIAN_PACKAGES = (
    "libegl1",
    "libgl1",
    "libdbus-1-3",
    "libfontconfig1",
    "libxkbcommon-x11-0",
    "libxcb-cursor0",
    "libxcb-icccm4",
    "libxcb-image0",
    "libxcb-keysyms1",
    "libxcb-randr0",
    "libxcb-render-util0",
    "libxcb-shape0",
    "libxcb-xinerama0",
    "libxcb-xkb1",
)
"""The system libraries that Qt needs and PySide6 does not include."""

INSTALL_HINT = f"on Debian and Ubuntu run 'apt install {' '.join(DEBIAN_PACKAGES)}'"


def install_advice(*requirements: str, no_deps: bool = False) -> str:
    """Return the command that installs packages for this interpreter, in any shell and folder."""
    if getattr(sys, "frozen", False):  # a PyInstaller bundle has no pip
        return f"use a Python installation of bertviewer with {' and '.join(requirements)}"
    pip = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # an environment that uv created
        pip = ["uv", "pip", "install", "--python", sys.executable]
    options = ["--no-deps"] if no_deps else []
    # POSIX shells and both of Windows read double quotes in the same way.
    quoted = [f'"{each}"' if set(each) & set("<>=! ") else each for each in requirements]
    program = subprocess.list2cmdline(pip)
    return " ".join([program, *options, *quoted])


def extra_advice(name: str) -> str:
    """Return the command that installs the packages of an extra.

    Raises:
        KeyError: there is no such extra.
    """
    return install_advice(*EXTRAS[name])
