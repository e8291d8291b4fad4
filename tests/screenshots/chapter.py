"""What pictures there are to take, as plain data."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tests.screenshots.guide import Guide

Step = Callable[["Guide"], None]
"""Something that a person does, or that happens to one."""
Size = tuple[int, int]

USUAL: Size = (1440, 900)
BOTH = ("light", "dark")


class Picture(Struct, frozen=True):
    """What is to be seen: how one gets there, in which themes, in windows of which sizes."""

    name: str
    steps: tuple[Step, ...] = ()
    themes: tuple[str, ...] = BOTH
    sizes: tuple[Size, ...] = (USUAL,)


class Chapter(Struct, frozen=True):
    """Pictures that are taken one after the other, of one window on one screen."""

    name: str
    pictures: tuple[Picture, ...]
    begins: tuple[Step, ...] = ()
    screen: Size = (2600, 1560)
    scale: float = 1.0
    is_numbered: bool = True

    def files(self) -> Iterator[tuple[Picture, Size, str, str]]:
        """Yield each picture with a size, a theme, and the name of its file."""
        for number, picture in enumerate(self.pictures, 1):
            for size in picture.sizes:
                for theme in picture.themes:
                    yield picture, size, theme, self._file(number, picture, size, theme)

    def _file(self, number: int, picture: Picture, size: Size, theme: str) -> str:
        if not self.is_numbered:
            return f"{picture.name}.png"
        of_size = f"-{size[0]}x{size[1]}" if len(picture.sizes) > 1 else ""
        return f"{self.name}-{number:02d}-{picture.name}{of_size}-{theme}.png"
