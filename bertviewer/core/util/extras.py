"""Optional packages, and the command that installs them in the environment that is running."""

import subprocess
import sys
from importlib.util import find_spec

EXTRAS = {
    "corpus": ("pyarrow>=17",),
    "offload": ("accelerate>=1.0",),
    "sentencepiece": ("protobuf>=4.25", "sentencepiece>=0.2"),
}
"""The requirements of each extra, as in pyproject.toml; no package index has bertviewer itself."""


def install_advice(*requirements: str, no_deps: bool = False) -> str:
    """Return what to do to install packages for this very interpreter.

    The command works in any shell and folder, whether bertviewer was installed from a checkout or
    from a wheel, or runs from a checkout without being installed.
    """
    if getattr(sys, "frozen", False):  # a PyInstaller bundle has no pip
        return f"use a Python installation of bertviewer with {' and '.join(requirements)}"
    pip = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # environments that uv made
        pip = ["uv", "pip", "install", "--python", sys.executable]
    options = ["--no-deps"] if no_deps else []
    # Double quotes are read alike by POSIX shells and by both of Windows.
    quoted = [f'"{each}"' if set(each) & set("<>=! ") else each for each in requirements]
    program = subprocess.list2cmdline(pip)
    return " ".join([program, *options, *quoted])


def extra_advice(name: str) -> str:
    """Return what to do to install the packages of an extra.

    Raises:
        KeyError: no extra has that name.
    """
    return install_advice(*EXTRAS[name])
