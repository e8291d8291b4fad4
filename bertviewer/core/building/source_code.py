"""The Python source of a module's class, read from the library that defines it.

Only libraries that are already imported have sources here.
"""

import inspect
import sys
from pathlib import Path
from types import ModuleType

from msgspec import Struct


class SourceCode(Struct, frozen=True):
    """A section of a source file.

    Attributes:
        name: the class, or the class and the method.
        path: of the file, starting with the package's folder.
        package: the name of the package.
        version: the package's.
        first_line: of the text, counted from 1.
        text: the source.
    """

    name: str
    path: str
    package: str
    version: str
    first_line: int
    text: str


def source_of(class_module: str, class_name: str) -> tuple[SourceCode, ...]:
    """Return a class's source, and its ``forward``'s if that is inherited.

    Empty if the library is not imported, the class was created at run time, or the program was
    packaged without sources.
    """
    kind = getattr(sys.modules.get(class_module), class_name, None)
    if not inspect.isclass(kind):
        return ()
    whole = _read(kind, kind, kind.__name__)
    if whole is None:
        return ()
    owner = next((base for base in kind.__mro__ if "forward" in vars(base)), kind)
    # nn.Module.forward is a placeholder that raises.
    if owner is kind or owner.__module__ == "torch.nn.modules.module":
        return (whole,)
    forward = _read(vars(owner)["forward"], owner, f"{owner.__name__}.forward")
    return (whole,) if forward is None else (whole, forward)


def _read(thing: object, kind: type, name: str) -> SourceCode | None:
    try:
        lines, first = inspect.getsourcelines(thing)  # type: ignore[arg-type]
        file = inspect.getsourcefile(kind)
    except (OSError, TypeError):
        return None
    package = sys.modules.get(kind.__module__.partition(".")[0])
    if file is None or package is None:
        return None
    return SourceCode(
        name=name,
        path=_relative_path(Path(file), package),
        package=package.__name__,
        version=str(getattr(package, "__version__", "")),
        first_line=max(first, 1),  # a whole file starts at 0
        text="".join(lines).rstrip("\n") + "\n",
    )


def _relative_path(file: Path, package: ModuleType) -> str:
    folder = Path(package.__file__ or "").parent
    if file.is_relative_to(folder):
        return (folder.name / file.relative_to(folder)).as_posix()
    return file.name
