"""Comparison of pictures with reference images."""

from pathlib import Path

import numpy as np
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

BLOCK = 4
"""Pictures are compared by the means of squares of so many pixels: fonts differ in edges only."""

TOLERANCE = 24
"""How far each colour of a square may be off, of 255."""

Pixels = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]


def compare_image(file: Path, picture: QWidget | QImage, *, update: bool) -> None:
    """Fail unless a picture looks like the image in a file; the new one is written next to it.

    Args:
        file: a PNG file.
        picture: a widget, drawn at its size, or an image.
        update: whether to write the picture to the file instead.
    """
    image = picture.grab().toImage() if isinstance(picture, QWidget) else picture
    if update:
        file.parent.mkdir(exist_ok=True)
        assert image.save(str(file)), f"could not write {file}"
        return
    actual = file.with_suffix(".actual.png")
    actual.unlink(missing_ok=True)
    difference = _difference(QImage(str(file)), image)
    if difference:
        image.save(str(actual))
        raise AssertionError(f"{actual} differs from {file.name}: {difference}")


def _difference(reference: QImage, image: QImage) -> str:
    if reference.isNull():
        return "there is no reference image; write it with --update-images"
    if reference.size() != image.size():
        return f"{image.width()} × {image.height()} pixels"
    apart = np.abs(_blocks(reference) - _blocks(image)).max(axis=2)
    row, column = np.unravel_index(apart.argmax(), apart.shape)
    count = int((apart > TOLERANCE).sum())
    if not count:
        return ""
    place = f"{column * BLOCK}, {row * BLOCK}"
    return f"{count} squares, most at {place} (by {apart[row, column]:.0f} of 255)"


def _blocks(image: QImage) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the mean colours of squares [height / BLOCK, width / BLOCK, 3]."""
    plain = image.convertToFormat(QImage.Format.Format_RGB32)
    height, width = plain.height(), plain.width()
    pixels: Pixels = np.frombuffer(plain.constBits(), np.uint8).reshape(height, width, 4)[..., :3]
    filled = np.pad(pixels, ((0, -height % BLOCK), (0, -width % BLOCK), (0, 0)), mode="edge")
    squares = filled.reshape(-(-height // BLOCK), BLOCK, -(-width // BLOCK), BLOCK, 3)
    return np.asarray(squares.mean(axis=(1, 3)), np.float64)
