"""Reference images: what counts as the same picture."""

from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from tests.tools.images import compare_image


def drawn(width: int = 64, x: int = 20, color: str = "#202020") -> QImage:
    """Return a white picture with a rectangle."""
    image = QImage(width, 47, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    painter = QPainter(image)
    painter.fillRect(x, 10, 16, 16, QColor(color))
    painter.end()
    return image


def test_the_same_picture_passes(tmp_path: Path) -> None:
    file = tmp_path / "images" / "box.png"
    compare_image(file, drawn(), update=True)
    compare_image(file, drawn(), update=False)
    compare_image(file, drawn(color="#303030"), update=False)
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("image", "difference"),
    [
        (drawn(x=22), "10 squares"),
        (drawn(color="#808080"), "20 squares, most at"),
        (drawn(width=60), "60 × 47 pixels"),
    ],
)
def test_another_picture_fails(tmp_path: Path, image: QImage, difference: str) -> None:
    file = tmp_path / "box.png"
    compare_image(file, drawn(), update=True)
    with pytest.raises(AssertionError, match=difference):
        compare_image(file, image, update=False)
    assert QImage(str(file.with_suffix(".actual.png"))).size() == image.size()


def test_a_missing_reference_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="--update-images"):
        compare_image(tmp_path / "box.png", drawn(), update=False)
