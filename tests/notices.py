"""Writes the third parties' licences down: python -m tests.notices; --check tells what is not so.

``packaging/THIRD_PARTY_NOTICES.txt`` comes with the wheel and with the bundle. It is made of what
the installed distributions say of themselves; to be made anew when a dependency changes.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution
from pathlib import Path

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bertviewer.core.sources.presets import DEMO_PACKAGE

ROOT = Path(__file__).parents[1]
NOTICES = ROOT / "packaging" / "THIRD_PARTY_NOTICES.txt"
TEXTS = ROOT / "packaging" / "licenses"
OURS = {
    # Qt for Python comes under LGPL 3, which is written as additions to GPL 3; its wheels have no
    # text, nor has tokenizers'.
    "pyside6-essentials": ("LGPL-3.0.txt", "GPL-3.0.txt"),
    "shiboken6": ("LGPL-3.0.txt", "GPL-3.0.txt"),
    "tokenizers": ("Apache-2.0.txt",),
    # Its metadata say MIT, and whose it is.
    "fontpkg": ("fontpkg.txt",),
    canonicalize_name(DEMO_PACKAGE): ("Apache-2.0.txt",),
}
"""What a distribution's licence says where it does not bring the text itself."""

HEADER = """\
THIRD-PARTY NOTICES

bertviewer itself is under the MIT licence (LICENSE). It runs on the works of others that are listed
here, and its self-contained folder carries them. Each is under a licence of its own, whose texts
follow below under the numbers given.

Qt and Qt for Python (PySide6-Essentials, shiboken6) are used under the GNU Lesser General Public
License, version 3. They are separate shared libraries in the folder PySide6 of the installation or
of the self-contained folder, and may be exchanged there for other builds of them. Their source code
is at https://code.qt.io, and of the same version at https://download.qt.io.

Written by python -m tests.notices.
"""
BUNDLED = (
    ("the Python interpreter, in the self-contained folder", "PSF-2.0", "Python.txt"),
    (
        "PyInstaller's bootloader, with which the self-contained folder starts",
        "GPL-2.0-or-later WITH Bootloader-exception",
        "PyInstaller.txt",
    ),
)
"""What the bundle holds and no distribution stands for."""
# The libraries of torch's builds for GPUs: the tested one and the bundle have none.
_GPU = re.compile(r"nvidia-|cuda-|triton")
_NAME = re.compile(r"(?i)licen[cs]e|copying|notice|authors")
_ENTRY = re.compile(r"^\* ([\w.-]+) (\S+):", re.MULTILINE)


class Work(Struct, frozen=True):
    """A distribution: its name as indexes write it, its licence in a word, and its texts."""

    name: str
    version: str
    licence: str
    texts: tuple[str, ...]


def required_names(requirements: Iterable[str]) -> dict[str, Distribution]:
    """Return what is installed of these requirements and of all that they require, by name."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(line) for line in requirements]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found or not _applies(wanted, {""}):
            continue
        found[name] = distribution = Distribution.from_name(wanted.name)
        extras = wanted.extras or {""}
        lines = map(Requirement, distribution.requires or ())
        waiting += [line for line in lines if _applies(line, extras)]
    return found


def works() -> tuple[Work, ...]:
    """Return all that an installation with the demo and the bundle are made of, by name."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["dependencies"]
    found = required_names(declared)
    found[canonicalize_name(DEMO_PACKAGE)] = Distribution.from_name(DEMO_PACKAGE)
    return tuple(_work(name, found[name]) for name in sorted(found) if not _GPU.match(name))


def listed(text: str) -> Mapping[str, str]:
    """Return the names and versions that notices are of."""
    return dict(_ENTRY.findall(text))


def notices(found: Iterable[Work]) -> str:
    """Write the notices; a text that several have stands there once."""
    numbers: dict[str, int] = {}
    lines = [HEADER]
    for work in found:
        own = [str(numbers.setdefault(text, len(numbers) + 1)) for text in work.texts]
        lines.append(f"* {work.name} {work.version}: {work.licence} [{', '.join(own)}]")
    for what, licence, file in BUNDLED:
        number = numbers.setdefault(_text(TEXTS / file), len(numbers) + 1)
        lines.append(f"* {what}: {licence} [{number}]")
    for text, number in numbers.items():
        lines.append(f"\n{'=' * 100}\n[{number}]\n\n{text}")
    return "\n".join(lines) + "\n"


def _applies(wanted: Requirement, extras: Iterable[str]) -> bool:
    marker = wanted.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


def _work(name: str, distribution: Distribution) -> Work:
    files = [
        Path(str(distribution.locate_file(file)))
        for file in distribution.files or ()
        if _NAME.search(file.name) and ".dist-info" in file.parts[0]
    ]
    texts = [_text(file) for file in (*sorted(files), *(TEXTS / t for t in OURS.get(name, ())))]
    version = distribution.version.partition("+")[0]
    return Work(name, version, _licence(distribution), tuple(dict.fromkeys(filter(None, texts))))


def _licence(distribution: Distribution) -> str:
    data = distribution.metadata
    said = data["License-Expression"] or data["License"] or ""
    if not said or "\n" in said or len(said) > 200:
        kinds = [line.rpartition(" :: ")[2] for line in data.get_all("Classifier") or ()
                 if line.startswith("License ::")]  # fmt: skip
        said = ", ".join(kinds)
    return said or "see its text"


def _text(file: Path) -> str:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.notices", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = notices(works())
    if not parser.parse_args().check:
        NOTICES.write_text(text, encoding="utf-8")
        return 0
    if text != NOTICES.read_text(encoding="utf-8"):
        sys.stderr.write(f"{NOTICES} is not what the installed distributions say\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
