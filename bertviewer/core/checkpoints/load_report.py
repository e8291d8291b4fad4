"""How the tensors of a checkpoint and of a model fit together, by name."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from bertviewer.core.util.serialization import struct_to_json

LISTED = 12
"""Names of a group that ``LoadReport.lines`` lists by default."""


class LoadReport(Struct, frozen=True, forbid_unknown_fields=True):
    """Which tensors of a checkpoint are loaded into which of a model.

    Attributes:
        files: the names of the checkpoint's files, and their sizes in bytes.
        stored_dtypes: number of its tensors of each dtype, by safetensors' names.
        dtype: dtype of the model, by torch's name; tensors of other dtypes are converted.
        tensors: number of parameter tensors of the model; tied ones count once.
        stored: key in the checkpoint of each tensor of the model that is stored unchanged.
        renamed: name in the model of each key with another name in the checkpoint; keys that are
            merged into one tensor have the same name.
        missing: tensors of the model that are not in the checkpoint: they are random.
        unexpected: keys of the checkpoint that the model does not have: they are not read.
        tied: names of the model that share the tensor of another name.
        stored_twice: tied names that are stored too, each with the name that it is tied to: they
            stay tied only if the values are the same.
        buffers: keys in the checkpoint of buffers that the model computes, such as
            ``position_ids``: they are not read.
        untied: parameters that the class ties, but which have other values in the checkpoint.
    """

    files: Mapping[str, int]
    stored_dtypes: Mapping[str, int]
    dtype: str
    tensors: int
    stored: Mapping[str, str]
    renamed: Mapping[str, str]
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    tied: Mapping[str, str]
    stored_twice: Mapping[str, str] = field(name="twice", default_factory=dict)
    buffers: tuple[str, ...] = ()
    untied: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """The size of all files together."""
        return sum(self.files.values())

    @property
    def has_lists(self) -> bool:
        """Whether any tensor is not simply loaded under its own name."""
        parts = self.missing, self.renamed, self.unexpected, self.tied, self.untied, self.buffers
        return any(parts)

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts and lists, without ``stored`` and ``stored_twice``."""
        files = [{"name": name, "bytes": size} for name, size in self.files.items()]
        data = struct_to_json(self) | {"files": files}
        del data["stored"], data["twice"]
        return data

    def lines(self, listed: int | None = LISTED) -> list[str]:
        """Return a description of the files, dtypes and names, line by line.

        Tensors that are loaded unchanged are not listed.

        Args:
            listed: maximum number of names in a group; ``None`` for all.
        """
        sizes = ", ".join(f"{name} ({size / 1e6:,.2f} MB)" for name, size in self.files.items())
        if len(self.files) > 1:
            sizes = f"{len(self.files)} files, {self.nbytes / 1e6:,.2f} MB in total: {sizes}"
        stored = ", ".join(f"{count} × {dtype}" for dtype, count in self.stored_dtypes.items())
        groups: dict[str, list[str]] = {
            # True before the first use, when nothing is initialised yet, and after it.
            "Missing from the checkpoint, initialised randomly when the model is used: "
            f"{len(self.missing)} of {self.tensors}": list(self.missing),
            f"Stored under another name: {len(self.renamed)}": [
                f"{name} is stored as {key}" for key, name in self.renamed.items()
            ],
            f"In the checkpoint but not in this model: {len(self.unexpected)}": list(
                self.unexpected
            ),
            f"Tied to another tensor: {len(self.tied)}": [
                f"{name} is tied to {first}" for name, first in self.tied.items()
            ],
            f"Tied by the model’s class but stored with different values: {len(self.untied)}": list(
                self.untied
            ),
            f"Buffers, computed by the model instead of read: {len(self.buffers)}": list(
                self.buffers
            ),
        }
        lines = [f"Checkpoint: {sizes}", f"Stored as: {stored}; computed in {self.dtype}"]
        for title, names in groups.items():
            if names:
                shown = names if listed is None or len(names) <= listed else names[: listed - 1]
                lines += [title, *(f"  {name}" for name in shown)]
                if len(shown) < len(names):
                    lines.append(f"  … and {len(names) - len(shown)} more")
        return lines


WRAPPERS = frozenset(
    (
        "_orig_mod",  # torch.compile
        "_fsdp_wrapped_module",
        "_checkpoint_wrapped_module",
        "_forward_module",  # Lightning
        "base_layer",  # PEFT, where an adapter was added
    )
)
"""Names of wrapper modules, which training code adds; no model has them."""
_TRAINED_COPY = "modules_to_save"
"""PEFT's module of trained copies, each under the name of its adapter."""
MAX_PREFIX_PARTS = 6


def without_wrappers(key: str) -> str:
    """Return a tensor's name without wrapper modules."""
    parts = key.split(".")
    if _TRAINED_COPY in parts[:-2]:
        place = parts.index(_TRAINED_COPY)
        del parts[place : place + 2]
    return ".".join(part for part in parts if part not in WRAPPERS)


def prefixes_of(key: str) -> Iterator[str]:
    """Yield the possible prefixes of a name, each with its last dot."""
    parts = key.split(".")
    for count in range(1, min(len(parts) - 1, MAX_PREFIX_PARTS) + 1):
        yield ".".join(parts[:count]) + "."
