"""Which files of pickled weights stand behind a folder, an index or a single file."""

from pathlib import Path

from bertviewer.core.checkpoints.finding import (
    MAX_SHARDS,
    PICKLES,
    check_inside,
    pickle_in,
    read_index,
)
from bertviewer.core.util.errors import NOT_REGULAR, UserError

SUFFIX = ".bin"


def pickle_files(path: Path) -> tuple[Path, ...]:
    """Return the files behind a model's folder, an index of several files, or one file.

    Raises:
        UserError: there are none, the index is bad, or a file lies elsewhere.
    """
    if path.is_dir():
        path = pickle_in(path) or path / PICKLES[0]
    files = _shards(path) if path.suffix == ".json" else (path,)
    for file in files:
        check_inside(file)
        if not file.is_file():
            raise UserError(f"{file}: {NOT_REGULAR}")
    return files


def _shards(index: Path) -> tuple[Path, ...]:
    names = dict.fromkeys(read_index(index, SUFFIX).values())
    if len(names) > MAX_SHARDS:
        raise UserError(f"{index}: the index names {len(names):,} files, more than any real index")
    return tuple(index.parent / name for name in names)
