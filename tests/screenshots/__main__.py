"""Takes pictures of the window: ``python -m tests.screenshots [FOLDER [CHAPTER …]]``.

Without a folder these are the README's. With a folder it is a gallery of every tab, view, dialog
and state, in both themes and several sizes, with models of several families, and an
``index.html``; ``tests/screenshots/gallery.py`` lists them. Each chapter runs in a separate
process with a real X window. Needs Xvfb and the window manager openbox.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from bertviewer.core.util.files import resources_folder
from tests.screenshots.chapter import Chapter
from tests.screenshots.gallery import CHAPTERS, README
from tests.screenshots.sheet import write_sheet
from tests.tools.xvfb import virtual_display, window_manager


def main(arguments: list[str] | None = None) -> int:
    """Take the README's pictures, or a gallery."""
    names = [chapter.name for chapter in CHAPTERS]
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="folder for the gallery")
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=", ".join(names))
    options = parser.parse_args(arguments)
    folder: Path | None = options.folder
    if unknown := sorted(set(options.chapters) - set(names)):
        parser.error(f"no chapter {', '.join(unknown)}")
    if folder is None:
        pictures = resources_folder() / "screenshots"
        status = _take(README, pictures)
        for picture in pictures.glob("*.png"):
            _shrink(picture)
        return status
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [each for each in CHAPTERS if not options.chapters or each.name in options.chapters]
    status = max(_take(chapter, folder) for chapter in wanted)
    write_sheet(folder, CHAPTERS)
    return status


def _shrink(picture: Path) -> None:
    """Reduce a picture to 256 colours, which makes its file three times as small."""
    with Image.open(picture) as opened:
        # This method keeps the colours of small areas.
        small = opened.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
    small.save(picture, optimize=True)


def _take(chapter: Chapter, folder: Path) -> int:
    """Take a chapter in a process with a separate screen, settings and cache."""
    width, height = chapter.screen
    code = f"from tests.screenshots.taking import take; take({chapter.name!r}, {str(folder)!r})"
    with (
        tempfile.TemporaryDirectory() as own,
        virtual_display(width, height) as display,
        window_manager(display),
    ):
        environment = os.environ | {
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "QT_SCALE_FACTOR": str(chapter.scale),
            "OMP_NUM_THREADS": "1",
            "HF_HUB_CACHE": str(Path(own) / "hub"),
            "no_proxy": "127.0.0.1",
        }
        for kind in ("CONFIG", "CACHE", "STATE"):
            environment[f"XDG_{kind}_HOME"] = str(Path(own) / kind)
        return subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
