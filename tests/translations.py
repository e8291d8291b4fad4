"""Collects the window's texts into a catalogue: ``python -m tests.translations zh_CN``."""

import argparse
import subprocess
import sys
from pathlib import Path

import bertviewer
from bertviewer.core.util.files import resources_folder

PACKAGE = Path(bertviewer.__file__).parent
MARKED = ("ui", "charts", "plots")
"""The folders whose texts are marked for translation."""


def collect(catalogue: Path) -> None:
    """Write all marked texts into a ``.ts`` file; what is translated in there stays."""
    files = [str(file) for name in MARKED for file in sorted((PACKAGE / name).rglob("*.py"))]
    _run("pyside6-lupdate", *files, "-ts", str(catalogue))


def release(catalogue: Path) -> Path:
    """Make of a ``.ts`` file the ``.qm`` beside it that the program reads, and return that."""
    made = catalogue.with_suffix(".qm")
    _run("pyside6-lrelease", str(catalogue), "-qm", str(made))
    return made


def _run(tool: str, *arguments: str) -> None:
    subprocess.run(
        [str(Path(sys.executable).parent / tool), *arguments],
        check=True,
        capture_output=True,
        timeout=120,
    )


def main() -> None:
    """Bring the catalogue of a language up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", help="as Qt names it: zh_CN, de")
    name = f"bertviewer_{parser.parse_args().language}.ts"
    catalogue = resources_folder() / "translations" / name
    collect(catalogue)
    release(catalogue)
    sys.stdout.write(f"{catalogue}\n")


if __name__ == "__main__":
    main()
