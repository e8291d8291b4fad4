"""Pictures of the window without a screen, and how they differ."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PIL import Image, ImageChops

if TYPE_CHECKING:
    from tests.screenshots.guide import Guide

TOLERANCE = 12
"""How far each colour of a pixel may be off, of 255."""
_CHAPTERS = ("tabs", "tensors", "views", "why", "predicting", "comparing", "panes", "dialogs")
"""Chapters of the gallery that are taken; all are of the demo."""
_LEFT_OUT = (
    *("guide-found", "filter", "filter-nothing"),  # without a screen no window has the keys
    *("report-written", "report-failed"),  # name the folder that they are taken into
)
_OTHERS = (
    ("tiny-bert-masked-lm", True),
    ("tiny-gpt2-causal-lm", True),
    ("tiny-t5", True),
    ("tiny-mixtral", True),
    ("saved-llama-causal-lm", True),
    ("tiny-vit", False),
)
"""Models of the record, each with whether a sentence is run."""


def names() -> tuple[str, ...]:
    """Return the names of the folders of pictures."""
    return (*(f"demo-{chapter}" for chapter in _CHAPTERS), *(name for name, _ in _OTHERS))


def take(name: str, folder: Path, models: Path) -> None:
    """Take the pictures of one model or chapter, in a process without a screen.

    Args:
        name: one of ``names()``.
        folder: where they go.
        models: the folder of the record's models.

    Raises:
        OSError: the process failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    code = "import sys; from tests.golden.pictures import take_here; take_here(*sys.argv[1:])"
    root = Path(__file__).parent.parent.parent
    with tempfile.TemporaryDirectory() as own:
        environment = os.environ | {
            "QT_QPA_PLATFORM": "offscreen",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(root),
        }
        for kind in ("CONFIG", "CACHE", "STATE"):
            environment[f"XDG_{kind}_HOME"] = str(Path(own) / kind)
        command = [sys.executable, "-c", code, name, str(folder)]
        done = subprocess.run(
            command, env=environment, cwd=models, check=False, capture_output=True, text=True
        )
    for file in folder.glob("report.*"):
        file.unlink()  # written by a step on the way to a picture
    if done.returncode:
        raise OSError(f"pictures of {name}: {done.stderr.strip().splitlines()[-1:]}")


def take_here(name: str, folder: str) -> None:
    """Take the pictures in this process, which ends then."""
    from tests.golden.models import read_models
    from tests.screenshots.chapter import Chapter, Picture
    from tests.screenshots.gallery import CHAPTERS, TABS, VIEWS
    from tests.screenshots.guide import Guide
    from tests.screenshots.steps import at, headed, opened, ran, shown
    from tests.screenshots.taking import take_chapter

    if name.startswith("demo-"):
        chapter = next(each for each in CHAPTERS if f"demo-{each.name}" == name)
        kept = tuple(each for each in chapter.pictures if each.name not in _LEFT_OUT)
        chapter = replace(chapter, pictures=kept)
    else:
        example = next(each for each in read_models(Path())[0] if each.name == name)
        runs = dict(_OTHERS)[name]

        def at_attention(guide: Guide) -> None:
            architecture = guide.workspace.architecture
            assert architecture is not None
            paths = [n.path for n in architecture.modules if "Attention" in n.class_name]
            at(paths[0] if paths else "")(guide)

        chapter = Chapter(
            name,
            tuple(
                Picture(title.lower().replace(" ", "-"), (shown(title),))
                for title in (*TABS, *(VIEWS if runs else ()))
            ),
            (
                opened(example.source),
                *((headed(example.task),) if example.task != "base" else ()),
                *((ran(example.sentence),) if runs else ()),
                at_attention,
            ),
        )
    take_chapter(chapter, Path(folder), _grab)


def _grab(guide: "Guide", file: str) -> None:
    """Save what is seen of all open windows, the main one first, side by side."""
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtWidgets import QFrame

    guide.rest()
    others = [
        widget
        for widget in guide.application.topLevelWidgets()
        if widget.isVisible() and not isinstance(widget, QFrame) and widget is not guide.window
    ]
    others.sort(key=lambda widget: (widget.objectName(), widget.width(), widget.height()))
    widgets = [guide.window, *others]
    width, height = sum(w.width() for w in widgets), max(w.height() for w in widgets)
    sheet = QImage(width, height, QImage.Format.Format_RGB32)
    sheet.fill(0)
    painter, left = QPainter(sheet), 0
    for widget in widgets:
        painter.drawPixmap(left, 0, widget.grab())
        left += widget.width()
    painter.end()
    if not sheet.save(str(guide.folder / file)):
        raise OSError(f"cannot write {guide.folder / file}")


def differences(old: Path, new: Path, output: Path) -> Iterator[str]:
    """Yield a line for each picture that differs, and write both and the difference side by side.

    Args:
        old: a folder of pictures.
        new: the same pictures, taken again.
        output: where pictures of the differences go.
    """
    files = sorted({file.name for folder in (old, new) for file in folder.glob("*.png")})
    for file in files:
        where = f"{new.name}/{file}"
        if not (old / file).exists() or not (new / file).exists():
            yield f"{where}: {'only now' if (new / file).exists() else 'no longer taken'}"
            continue
        with Image.open(old / file) as first, Image.open(new / file) as second:
            before, after = first.convert("RGB"), second.convert("RGB")
        if before.size != after.size:
            _side_by_side((before, after), output / where)
            yield f"{where}: {before.size} became {after.size}"
            continue
        off = ImageChops.difference(before, after).point(lambda value: 255 * (value > TOLERANCE))
        mask = ImageChops.lighter(ImageChops.lighter(*off.split()[:2]), off.split()[2])
        if pixels := mask.histogram()[255]:
            _side_by_side((before, after, mask.convert("RGB")), output / where)
            yield f"{where}: {pixels:,} pixels differ, within {mask.getbbox()}"


def _side_by_side(pictures: Sequence[Image.Image], file: Path) -> None:
    width, height = sum(p.width for p in pictures), max(p.height for p in pictures)
    sheet = Image.new("RGB", (width, height))
    left = 0
    for picture in pictures:
        sheet.paste(picture, (left, 0))
        left += picture.width
    file.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(file)
