"""Which files of pickled weights stand behind a folder, an index or a single file."""

from pathlib import Path
from typing import Any

from bertviewer.core.errors import UserError
from bertviewer.core.weights.finding import MAX_INDEX, MAX_SHARDS, check_inside
from bertviewer.core.weights.header import parse_json, shown_name

WEIGHTS = "pytorch_model.bin"
INDEX = "pytorch_model.bin.index.json"


def pickle_files(path: Path) -> tuple[Path, ...]:
    """Return the files behind a model's folder, an index of several files, or one file.

    Raises:
        UserError: there are none, the index is bad, or a file lies elsewhere.
    """
    if path.is_dir():
        path = next((p for p in (path / WEIGHTS, path / INDEX) if p.is_file()), path / WEIGHTS)
    files = _shards(path) if path.suffix == ".json" else (path,)
    for file in files:
        check_inside(file)
        if not file.is_file():
            raise UserError(f"{file}: not a regular file")
    return files


def _shards(index: Path) -> tuple[Path, ...]:
    try:
        if index.stat().st_size > MAX_INDEX:
            raise UserError(f"{index}: too large for an index")
        text = index.read_bytes()
    except OSError as error:
        raise UserError(f"{index}: {error.strerror or error}") from error
    data: Any = parse_json(text, index, "index", fractions=True)
    listed = data.get("weight_map") if isinstance(data, dict) else None
    if not isinstance(listed, dict) or not listed:
        raise UserError(f"{index}: bad index: it has no weight_map")
    names = dict.fromkeys(map(str, listed.values()))
    if len(names) > MAX_SHARDS:
        raise UserError(f"{index}: it names {len(names):,} files, more than any real one")
    for name in names:
        if name != Path(name).name or "\\" in name or not name.endswith(".bin"):
            raise UserError(f"{index}: bad index: {shown_name(name)} is no .bin file beside it")
    return tuple(index.parent / name for name in names)
