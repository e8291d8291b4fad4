"""The Python source of a module's class, read from the library that defines it.

Nothing is imported for it: a class whose library is not loaded has no source here.
"""

import inspect
import sys
from pathlib import Path
from types import ModuleType

from msgspec import Struct


class SourceCode(Struct, frozen=True):
    """Lines of one file, with where they stand.

    ``name`` is the class, or the class and the method. ``path`` begins with the package's own
    folder, ``package`` and ``version`` are the package's, and ``first_line`` counts from 1.
    """

    name: str
    path: str
    package: str
    version: str
    first_line: int
    text: str


def source_of(class_module: str, class_name: str) -> tuple[SourceCode, ...]:
    """Return a class's source, and its ``forward``'s too where that is inherited.

    It is empty where the source cannot be had: the library is not loaded, the class was made at
    run time, or the program was packed without the file.
    """
    module = sys.modules.get(class_module)
    kind = getattr(module, class_name, None)
    if not inspect.isclass(kind):
        return ()
    whole = _read(kind, kind, kind.__name__)
    if whole is None:
        return ()
    holder = _holder_of_forward(kind)
    if holder is None or holder is kind:
        return (whole,)
    forward = _read(vars(holder)["forward"], holder, f"{holder.__name__}.forward")
    return (whole,) if forward is None else (whole, forward)


def _holder_of_forward(kind: type) -> type | None:
    """Return the class that defines ``forward``; torch's root class has a stand-in that fails."""
    holder = next((base for base in kind.__mro__ if "forward" in vars(base)), None)
    is_stand_in = holder is not None and holder.__module__ == "torch.nn.modules.module"
    return None if is_stand_in else holder


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
        path=_relative(Path(file), package),
        package=package.__name__,
        version=str(getattr(package, "__version__", "")),
        # A whole file would count from 0.
        first_line=max(first, 1),
        text="".join(lines).rstrip("\n") + "\n",
    )


def _relative(file: Path, package: ModuleType) -> str:
    """Return the path from the package's own folder on; the file's name where it lies elsewhere."""
    home = Path(package.__file__ or "").parent
    if file.is_relative_to(home):
        return (home.name / file.relative_to(home)).as_posix()
    return file.name
