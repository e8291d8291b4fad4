"""Where a folder keeps its model, and what it holds that is not read."""

import itertools
import json
import os
from os.path import lexists
from pathlib import Path
from typing import Any

from bertviewer.core.checkpoints.finding import (
    TRAINING,
    is_plain_name,
    pickle_in,
    several_weights,
    weights_in,
)
from bertviewer.core.checkpoints.header import parse_json, shown_name
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file

CONFIG = "config.json"
ADAPTER = "adapter_config.json"
MOST_BYTES = 1_000_000
MOST_ENTRIES = 2_000
"""Entries of a folder that are looked at."""
MOST_FOLDERS = 50
"""Folders in it whose entries are looked at."""
MOST_NAMED = 5
_MODULES = "modules.json"
_TRANSFORMER = "0_Transformer"
_CACHED = "models--"

_FROM_TENSORFLOW = (
    "convert them with transformers 4 and TensorFlow: "
    "AutoModel.from_pretrained(folder, from_tf=True).save_pretrained(folder)"
)
_FORMATS = {
    ".h5": ("TensorFlow weights", _FROM_TENSORFLOW),
    ".msgpack": (
        "Flax weights",
        "convert them with transformers 4 and Flax: "
        "AutoModel.from_pretrained(folder, from_flax=True).save_pretrained(folder)",
    ),
    ".onnx": ("an ONNX graph", "open the model that it was exported from"),
    ".gguf": ("GGUF weights", "open the model that they were converted from"),
    ".index": ("a TensorFlow checkpoint", _FROM_TENSORFLOW),
    ".ot": ("weights for Rust", "open the model that they were converted from"),
    ".npz": ("NumPy arrays", "save them as model.safetensors"),
    ".tflite": ("a TensorFlow Lite graph", "open the model that it was exported from"),
    ".mlmodel": ("a Core ML graph", "open the model that it was converted from"),
    **dict.fromkeys(
        (".part", ".incomplete", ".crdownload", ".aria2"),
        ("an unfinished download", "download the file again"),
    ),
    ".distcp": (
        "shards of FSDP training",
        "merge them with 'accelerate merge-weights' and open the folder it writes",
    ),
}
"""What files of weights that are not read are, by their ending, and what to do instead."""
_DEEPSPEED = "global_step"
"""How the name of DeepSpeed's folder of a training step begins."""
_WITHOUT_WEIGHTS = frozenset(("Transformer", "Pooling", "Normalize"))
"""Modules of sentence-transformers that add no weights to those of the transformer."""


def model_folder(path: Path) -> Path:
    """Return the folder of the model inside a folder, which mostly is that folder itself.

    A sentence-transformers model has its transformer in a folder that ``modules.json`` names; an
    entry of the hub's cache has a folder for each commit, and ``refs/main`` names the one in use.

    Raises:
        UserError: the entry of a cache has several commits, and none of them is in use.
    """
    if _has_weights(path):
        return path
    entry = path.parent if path.name == "snapshots" else path
    if (entry / "snapshots").is_dir() and entry.name.startswith(_CACHED):
        return _snapshot(entry)
    # The root of an old one has a config.json too, which says nothing of the model.
    inner = path / _transformer_of(path)
    is_inside = inner.is_dir() and inner.resolve().parent == path.resolve()
    return inner if is_inside and _has_model(inner) else path


def unread_weights(folder: Path) -> str:
    """Return what to do about a folder whose weights are not read, "" if it has none such."""
    if weights_in(folder) is not None or pickle_in(folder) is not None:
        return ""
    if several := several_weights(folder):
        return f"its weights are in several files ({_listed(several)}); open one of them"
    names = _names(folder)
    if step := next((name for name in names if name.startswith(_DEEPSPEED)), None):
        return (
            f"{shown_name(step)} holds DeepSpeed training state, which bertviewer cannot read; "
            "write the weights with 'python zero_to_fp32.py . weights' and open that folder"
        )
    # Exports are often in a folder of their own, such as onnx.
    folders = itertools.islice(filter(lambda name: _is_inside(folder / name), names), MOST_FOLDERS)
    inner = (f"{name}/{one}" for name in folders for one in _names(folder / name))
    return next(filter(None, map(why_not_read, itertools.chain(names, inner))), "")


def _is_inside(path: Path) -> bool:
    """Tell whether it is a folder, not a link, that may be listed."""
    return path.is_dir() and not path.is_symlink() and os.access(path, os.R_OK | os.X_OK)


def why_not_read(name: str) -> str:
    """Return what a file of weights is that is not read, and what to do; "" for any other file."""
    suffix = Path(name).suffix.lower()
    what, instead = _FORMATS.get(suffix, ("", ""))
    if not what or (suffix == ".index" and ".ckpt" not in name):
        return ""
    return f"{shown_name(name)} holds {what}, which bertviewer cannot read; {instead}"


def notices_of(folder: Path) -> tuple[str, ...]:
    """Return the sentences that qualify all figures of the model in a folder."""
    found = []
    if lexists(folder / ADAPTER):
        found.append(f"The adapter in the same folder ({ADAPTER}) is not applied to the model.")
    if unread := unread_weights(folder):
        found.append(f"The model has no weights here: {unread}.")
    if ignored := _other_modules(folder):
        found.append(
            f"Modules of sentence-transformers after the transformer ({_listed(ignored)}) are not "
            "applied: vectors of sentences are those of the transformer."
        )
    return tuple(found)


def _other_modules(folder: Path) -> list[str]:
    """Return the classes of the modules with weights that sentence-transformers adds to a model."""
    root = next((it for it in (folder, folder.parent) if lexists(it / _MODULES)), None)
    if root is None or (root / _transformer_of(root, "")).resolve() != folder.resolve():
        return []
    modules = _json(root / _MODULES)
    tables = modules if isinstance(modules, list) else []
    types = [module.get("type") for module in tables if isinstance(module, dict)]
    names = [one.rpartition(".")[2] for one in types if isinstance(one, str)]
    return [name for name in names if name not in _WITHOUT_WEIGHTS]


def no_model_in(folder: Path, name: str) -> UserError:
    """Return the error for a folder without a configuration and without weights that are read."""
    nothing = f"{name}: the folder has no {CONFIG} and no weights"
    if any(one.startswith("adapter_") for one in _names(folder)):
        return UserError(f"{name}: {_adapter(folder)}")
    if unread := unread_weights(folder):
        return UserError(f"{nothing} that can be opened: {unread}")
    inner = [one for one in _names(folder) if _has_model(model_folder(folder / one))]
    if inner:
        return UserError(f"{nothing}; open one of the models in it: {_listed(inner)}")
    training = [one for one in _names(folder) if one.startswith(TRAINING)]
    if training:
        return UserError(
            f"{nothing}, only training state ({_listed(training)}); open the folder that "
            "the model was saved in"
        )
    return UserError(nothing)


def _has_model(folder: Path) -> bool:
    return lexists(folder / CONFIG) or _has_weights(folder)


def _has_weights(folder: Path) -> bool:
    try:
        return weights_in(folder) is not None or pickle_in(folder) is not None
    except UserError:  # shards without their index are weights, and are refused when opened
        return True


def _snapshot(entry: Path) -> Path:
    """Return the commit in use of an entry of the hub's cache."""
    commits = {one.name: one for one in sorted((entry / "snapshots").iterdir()) if one.is_dir()}
    try:
        used = read_small_file(entry / "refs" / "main", MOST_BYTES, "a commit").decode().strip()
    except (UserError, UnicodeDecodeError):
        used = ""
    if used in commits:
        return commits[used]
    if len(commits) == 1:
        return next(iter(commits.values()))
    if not commits:
        raise UserError(f"{entry}: none of this model's files have been downloaded")
    raise UserError(
        f"{entry}: it has several commits and no refs/main; open one of snapshots/"
        f"{', snapshots/'.join(list(commits)[:MOST_NAMED])}"
    )


def _transformer_of(path: Path, default: str = _TRANSFORMER) -> str:
    """Return the name of a sentence-transformers model's folder with its transformer."""
    modules = _json(path / _MODULES) if lexists(path / _MODULES) else None
    first = modules[0] if isinstance(modules, list) and modules else {}
    name = first.get("path") if isinstance(first, dict) else None
    return name if isinstance(name, str) and is_plain_name(name) else default


def _adapter(folder: Path) -> str:
    """Say what an adapter without its model is, and what to do."""
    values = _json(folder / ADAPTER)
    config = values if isinstance(values, dict) else {}
    kind, base = config.get("peft_type"), config.get("base_model_name_or_path")
    what = f"an adapter ({shown_name(kind)})" if isinstance(kind, str) else "an adapter"
    of = f" of {shown_name(base)}" if isinstance(base, str) else ""
    return (
        f"only {what}{of}, without the model's weights; open that model, or merge both with "
        "PEFT (merge_and_unload), save the result and open it"
    )


def _json(file: Path) -> Any:
    """Return a small JSON file's content, ``None`` if it cannot be read."""
    try:
        return parse_json(read_small_file(file, MOST_BYTES, "a list"), file, "JSON", fractions=True)
    except (UserError, json.JSONDecodeError):
        return None


def _names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted, of the first entries if it has very many."""
    found: list[str] = []
    for entry in folder.iterdir():
        found.append(entry.name)
        if len(found) == MOST_ENTRIES:
            break
    return sorted(found)


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(shown_name, names[:MOST_NAMED]))
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown
