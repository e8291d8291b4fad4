"""What a checkpoint holds of a model, tensor by tensor: plain data, the same as its JSON."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from bertviewer.core.util.serialization import by_fields


class LoadReport(Struct, frozen=True, forbid_unknown_fields=True):
    """How a checkpoint's tensors and a model's fit together.

    Attributes:
        files: the names of the checkpoint's files, and their sizes in bytes.
        stored_dtypes: how many of its tensors have which dtype, by safetensors' names.
        dtype: what the model computes in, by torch's name; what is stored otherwise is converted.
        tensors: how many tensors the model learns, a tied one counted once.
        stored: the checkpoint's key of each tensor of the model that is stored as it is.
        renamed: the model's name of each key that has another name in the checkpoint; several
            keys that are merged into one tensor have the same name.
        missing: the model's tensors that the checkpoint lacks: they are drawn at random.
        unexpected: the checkpoint's keys that the model has no place for: they are not read.
        tied: names of the model that stand for the tensor of another name.
        twice: the tied names that are stored as well as the tensor that they are tied to, with
            that tensor's name: they stay tied only if the values are the same.
        buffers: the checkpoint's keys of buffers that the model computes itself, such as
            ``position_ids``: they are no weights, and are not read.
        untied: the parameters that the class ties, and for which other values are stored.
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
    twice: Mapping[str, str] = field(default_factory=dict)
    buffers: tuple[str, ...] = ()
    untied: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """The size of all files together."""
        return sum(self.files.values())

    @property
    def has_lists(self) -> bool:
        """Whether there is anything that is not simply in its place."""
        parts = self.missing, self.renamed, self.unexpected, self.tied, self.untied, self.buffers
        return any(parts)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain dicts and lists; ``stored`` is left out, as ``renamed`` tells it."""
        files = [{"name": name, "bytes": size} for name, size in self.files.items()]
        told = by_fields(self) | {"files": files}
        del told["stored"], told["twice"]
        return told
