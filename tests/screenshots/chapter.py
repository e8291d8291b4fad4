"""Pictures to take, as plain data."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from msgspec import Struct

if TYPE_CHECKING:
    from tests.screenshots.guide import Guide

Step = Callable[["Guide"], None]
"""An action of the user, or an event."""
P = ParamSpec("P")
Size = tuple[int, int]


def step(do: "Callable[Concatenate[Guide, P], object]") -> Callable[P, Step]:
    """Decorate a function of a guide and other arguments: called with these, it returns a step."""

    def make(*arguments: P.args, **named: P.kwargs) -> Step:
        def run(guide: "Guide") -> None:
            do(guide, *arguments, **named)

        return run

    return make


USUAL: Size = (1440, 900)
BOTH = ("light", "dark")


class Picture(Struct, frozen=True):
    """The steps that lead to a state, and the themes and window sizes to show it in."""

    name: str
    steps: tuple[Step, ...] = ()
    themes: tuple[str, ...] = BOTH
    sizes: tuple[Size, ...] = (USUAL,)


class Chapter(Struct, frozen=True):
    """Pictures of one window on one screen, taken in order."""

    name: str
    pictures: tuple[Picture, ...]
    begins: tuple[Step, ...] = ()
    screen: Size = (2600, 1560)
    scale: float = 1.0
    is_numbered: bool = True

    def files(self) -> Iterator[tuple[Picture, Size, str, str]]:
        """Yield each picture with a size, a theme and its file name."""
        for number, picture in enumerate(self.pictures, 1):
            for size in picture.sizes:
                for theme in picture.themes:
                    yield picture, size, theme, self._file(number, picture, size, theme)

    def _file(self, number: int, picture: Picture, size: Size, theme: str) -> str:
        if not self.is_numbered:
            return f"{picture.name}.png"
        of_size = f"-{size[0]}x{size[1]}" if len(picture.sizes) > 1 else ""
        return f"{self.name}-{number:02d}-{picture.name}{of_size}-{theme}.png"
