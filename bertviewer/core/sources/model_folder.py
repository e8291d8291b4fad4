"""Model folders: where the model is, which files are not read, and the licence."""

import os
import re
from collections.abc import Iterable
from itertools import chain, compress, islice
from os.path import lexists
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from bertviewer.core.checkpoints.finding import (
    TRAINING_PREFIXES,
    ambiguous_weights,
    is_plain_name,
    pickle_in,
    weights_in,
)
from bertviewer.core.schema.sentence_pooling import POOLING_MODES, SentencePooling
from bertviewer.core.sources.model_source import CONFIG, ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file, sha256_of
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.serialization import decode
from bertviewer.core.util.text import listed, shown_name

ADAPTER = "adapter_config.json"
MAX_BYTES = 1_000_000  # of a small file
MAX_ENTRIES = 2_000  # of a folder that are listed
MAX_FOLDERS = 50  # in a folder that are listed
MAX_NAMED = 5  # names in a message
DEMO_LICENCE = "Apache 2.0 (authors); the package that distributes it says MIT"
_MODULES, _PROMPTS = "modules.json", "config_sentence_transformers.json"
_LIBRARY = "sentence_transformers."
"""The package of modules whose computation is known."""
_TRANSFORMER = "0_Transformer"
_LICENCE = re.compile(r"^license:\s*[\"']?([\w.+-]{1,60})[\"']?\s*$", re.MULTILINE)
_BASE_MODEL = re.compile(r"^base_model:\s*(?:-\s*)?[\"']?([\w./-]{1,200})[\"']?\s*$", re.MULTILINE)
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
"""Weight files that are not supported, by suffix: what they are, and what to do instead."""
_DEEPSPEED = "global_step"
"""Prefix of DeepSpeed's folders, one for each training step."""
_WITHOUT_WEIGHTS = frozenset(("Transformer", "Pooling", "Normalize"))
"""Modules of sentence-transformers without weights, and the transformer itself."""


class _Module(Struct, frozen=True):
    """An entry of ``modules.json``, which sentence-transformers writes."""

    type: str = ""
    path: str = ""

    @property
    def name(self) -> str:
        """The name of its class."""
        return self.type.rpartition(".")[2]


class _Pooling(Struct, frozen=True):
    """``config.json`` of a pooling module; old versions have a flag for each mode."""

    pooling_mode: str | list[str] | None = None
    pooling_mode_cls_token: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_tokens: bool = True
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes, in the order of ``POOLING_MODES`` if they are flags."""
        if self.pooling_mode is not None:
            named = [self.pooling_mode] if isinstance(self.pooling_mode, str) else self.pooling_mode
            return tuple(mode.lower().removesuffix("_tokens") for mode in named)
        flags = (
            self.pooling_mode_cls_token,
            self.pooling_mode_max_tokens,
            self.pooling_mode_mean_tokens,
            self.pooling_mode_mean_sqrt_len_tokens,
            self.pooling_mode_weightedmean_tokens,
            self.pooling_mode_lasttoken,
        )
        return tuple(compress(POOLING_MODES, flags))


class _Prompts(Struct, frozen=True):
    """``config_sentence_transformers.json``."""

    default_prompt_name: str | None = None


class _Adapter(Struct, frozen=True):
    """``adapter_config.json``, which PEFT writes."""

    peft_type: str | None = None
    base_model_name_or_path: str | None = None


_T = TypeVar("_T")


def model_folder(path: Path) -> Path:
    """Return the folder of the model inside a folder; usually that folder itself.

    A sentence-transformers model has its transformer in a folder that ``modules.json`` names; an
    entry of the Hub's cache has a folder for each commit, and ``refs/main`` names the current one.

    Raises:
        UserError: the cache entry has several commits, and none of them is the current one.
    """
    if _has_weights(path):
        return path
    entry = path.parent if path.name == "snapshots" else path
    if (entry / "snapshots").is_dir() and entry.name.startswith(_CACHED):
        return _snapshot(entry)
    # In old versions the root has a config.json too, which does not describe the model.
    inner = path / _transformer_of(path)
    is_inside = inner.is_dir() and inner.resolve().parent == path.resolve()
    return inner if is_inside and _has_model(inner) else path


def unread_weights_advice(folder: Path) -> str:
    """Return what to do about unsupported weights in a folder, "" if it has none."""
    if weights_in(folder) is not None or pickle_in(folder) is not None:
        return ""
    if several := ambiguous_weights(folder):
        return f"its weights are in several files ({_listed(several)}); open one of them"
    names = _names(folder)
    if step := next((name for name in names if name.startswith(_DEEPSPEED)), None):
        return (
            f"{shown_name(step)} holds DeepSpeed training state, which bertviewer cannot read; "
            "write the weights with 'python zero_to_fp32.py . weights' and open that folder"
        )
    # Exports are often in a subfolder such as onnx.
    folders = islice(filter(lambda name: _is_listable(folder / name), names), MAX_FOLDERS)
    inner = (f"{name}/{one}" for name in folders for one in _names(folder / name))
    return next(filter(None, map(unsupported_advice, chain(names, inner))), "")


def _is_listable(path: Path) -> bool:
    """Tell whether it is a folder, not a link, that can be listed."""
    return path.is_dir() and not path.is_symlink() and os.access(path, os.R_OK | os.X_OK)


def unsupported_advice(name: str) -> str:
    """Return what to do about an unsupported weight file, by its name; "" for any other file."""
    suffix = Path(name).suffix.lower()
    what, instead = _FORMATS.get(suffix, ("", ""))
    if not what or (suffix == ".index" and ".ckpt" not in name):
        return ""
    return f"{shown_name(name)} holds {what}, which bertviewer cannot read; {instead}"


def notices_of(folder: Path) -> tuple[str, ...]:
    """Return warnings that apply to all figures of the model in a folder."""
    found = []
    if lexists(folder / ADAPTER):
        found.append(f"The adapter in the same folder ({ADAPTER}) is not applied to the model.")
    if unread := unread_weights_advice(folder):
        found.append(f"The model has no weights here: {unread}.")
    if ignored := _other_modules(folder):
        found.append(
            f"Modules of sentence-transformers after the transformer ({_listed(ignored)}) are not "
            "applied: vectors of sentences are those of the transformer."
        )
    return tuple(found)


def sentence_pooling_of(folder: Path) -> SentencePooling | None:
    """Return how the sentence-transformers model in a folder makes a sentence's vector.

    ``None`` if it has other modules than the transformer, one pooling and a normalization, or a
    default prompt: then its vector is not a pooling of the sentence's own tokens.
    """
    root = _root_of(folder)
    modules = [] if root is None else _modules(root)[1:]
    if root is None or not all(one.type.startswith(_LIBRARY) for one in modules):
        return None
    pooling, *others = modules or [_Module()]
    if pooling.name != "Pooling" or not is_plain_name(pooling.path):
        return None
    if not {one.name for one in others} <= {"Normalize"}:
        return None
    prompts = _json(root / _PROMPTS, _Prompts)
    config = _json(root / pooling.path / CONFIG, _Pooling)
    if config is None or (prompts is not None and prompts.default_prompt_name is not None):
        return None
    known = tuple(mode for mode in POOLING_MODES if mode in config.modes)
    is_known = bool(known) and len(known) == len(config.modes)
    return SentencePooling(known, bool(others)) if is_known else None


def _root_of(folder: Path) -> Path | None:
    """Return the folder of ``modules.json`` with the transformer in ``folder``, if there is one."""
    root = next((it for it in (folder, folder.parent) if lexists(it / _MODULES)), None)
    if root is None or (root / _transformer_of(root, "")).resolve() != folder.resolve():
        return None
    return root


def _other_modules(folder: Path) -> list[str]:
    """Return the classes of the modules that sentence-transformers adds after the transformer."""
    root = _root_of(folder)
    names = [] if root is None else [module.name for module in _modules(root)]
    return [name for name in names if name and name not in _WITHOUT_WEIGHTS]


def no_model_error(folder: Path, name: str) -> UserError:
    """Return the error for a folder without a configuration and without supported weights."""
    nothing = f"{name}: the folder has no {CONFIG} and no weights"
    if any(one.startswith("adapter_") for one in _names(folder)):
        return UserError(f"{name}: {_adapter(folder)}")
    if unread := unread_weights_advice(folder):
        return UserError(f"{nothing} that can be opened: {unread}")
    inner = [one for one in _names(folder) if _has_model(model_folder(folder / one))]
    if inner:
        return UserError(f"{nothing}; open one of the models in it: {_listed(inner)}")
    training = [one for one in _names(folder) if one.startswith(TRAINING_PREFIXES)]
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
    except UserError:  # shards without their index are refused when they are opened
        return True


def _snapshot(entry: Path) -> Path:
    """Return the folder of the current commit in an entry of the Hub's cache."""
    commits = {one.name: one for one in sorted((entry / "snapshots").iterdir()) if one.is_dir()}
    try:
        used = read_small_file(entry / "refs" / "main", MAX_BYTES, "a commit").decode().strip()
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
        f"{', snapshots/'.join(list(commits)[:MAX_NAMED])}"
    )


def _transformer_of(path: Path, default: str = _TRANSFORMER) -> str:
    """Return the name of a sentence-transformers model's folder with its transformer."""
    name = next((module.path for module in _modules(path)), "")
    return name if is_plain_name(name) else default


def _modules(root: Path) -> list[_Module]:
    return _json(root / _MODULES, list[_Module]) or []


def _adapter(folder: Path) -> str:
    """Return what an adapter without its model is, and what to do."""
    config = _json(folder / ADAPTER, _Adapter) or _Adapter()
    kind, base = config.peft_type, config.base_model_name_or_path
    what = "an adapter" if kind is None else f"an adapter ({shown_name(kind)})"
    of = "" if base is None else f" of {shown_name(base)}"
    return (
        f"only {what}{of}, without the model's weights; open that model, or merge both with "
        "PEFT (merge_and_unload), save the result and open it"
    )


def _json(file: Path, kind: type[_T]) -> _T | None:
    """Return the content of a small JSON file, ``None`` if it cannot be read."""
    try:
        return decode(read_small_file(file, MAX_BYTES, "a list"), kind)
    except (UserError, ValueError, RecursionError):
        return None


def _names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; of a very large one, only some."""
    found: list[str] = []
    for entry in folder.iterdir():
        found.append(entry.name)
        if len(found) == MAX_ENTRIES:
            break
    return sorted(found)


def _listed(names: list[str]) -> str:
    return listed(list(map(shown_name, names)), MAX_NAMED)


class Origin(Struct, frozen=True):
    """Digests and licence of a model's weights.

    Attributes:
        digests: name and SHA-256 of each file.
        licence: as the model card or the licence file has it, or empty.
        base_model: the model that it was trained from, as the model card has it, or empty.
    """

    digests: tuple[tuple[str, str], ...] = ()
    licence: str = ""
    base_model: str = ""


def origin_of(
    source: ModelSource, files: Iterable[Path], progress: Progress = no_progress
) -> Origin:
    """Compute the digests of a model's weight files, and look for its licence.

    Raises:
        UserError: a file cannot be read.
        Cancelled: by ``progress``.
    """
    digests = tuple((file.name, sha256_of(file, progress)) for file in files)
    front = _front_matter(source.folder)
    base = _BASE_MODEL.search(front)
    licence = DEMO_LICENCE if source.kind == "demo" else _licence(source.folder, front)
    return Origin(digests, licence, base[1] if base else "")


def _front_matter(folder: Path) -> str:
    """Return the metadata at the start of the model card, empty without any."""
    card = _read(folder / "README.md")
    return card.partition("---")[2].partition("\n---")[0] if card.startswith("---") else ""


def _licence(folder: Path, front: str) -> str:
    """Return the licence in the model card's front matter, or the licence file's first line."""
    if found := _LICENCE.search(front):
        return found[1]
    for name in ("LICENSE", "LICENSE.txt", "LICENSE.md"):
        lines = (line.strip(" #\t") for line in _read(folder / name).splitlines())
        if first := next(filter(None, lines), ""):
            return first[:80]
    return ""


def _read(file: Path) -> str:
    """Return the text of a file, empty if it cannot be read."""
    try:
        return read_small_file(file, MAX_BYTES, "a licence").decode("utf-8", "replace")
    except UserError:
        return ""
