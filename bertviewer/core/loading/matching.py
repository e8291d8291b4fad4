"""Compares a checkpoint's header with a module: which tensor of the one is which of the other.

Checkpoints name tensors in many ways: the base model's with its prefix (``bert.``) or without,
LayerNorm's as TensorFlow did (``gamma``, ``beta``), and some families' as their authors did.
transformers knows them all, and loads by them; so it is asked, by name alone and for no values.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from torch import Tensor, nn
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key

from bertviewer.core.errors import UserError
from bertviewer.core.text.numerals import count_text
from bertviewer.core.weights.keys import KeyReport
from bertviewer.core.weights.stored import Checkpoint, StoredTensor


def match(module: nn.Module, checkpoint: Checkpoint) -> KeyReport:
    """Return how a checkpoint fits a module, which may be on the meta device.

    Raises:
        UserError: it holds none of the module's tensors, or one of another shape.
    """
    parameters = dict(module.named_parameters(remove_duplicate=False))
    places, turned = _places(module, parameters, checkpoint)
    tied = _tied(parameters)
    held = {tied.get(name, name) for names in places.values() for name in names}
    firsts = [name for name in parameters if name not in tied]
    if held.isdisjoint(firsts):
        raise UserError(f"{where(checkpoint)}: none of its tensors belongs to this architecture")
    names = {key: names[0] for key, names in places.items() if names}
    merged = {name for name, count in Counter(names.values()).items() if count > 1}
    return KeyReport(
        files={file.own.name: file.nbytes for file in checkpoint.files},
        stored_dtypes=Counter(tensor.dtype for tensor in checkpoint.tensors.values()),
        dtype=_dtype(parameters[firsts[0]]),
        tensors=len(firsts),
        stored={
            name: key for key, name in names.items() if name not in merged and key not in turned
        },
        renamed={key: name for key, name in names.items() if key != name},
        missing=tuple(name for name in firsts if name not in held),
        unexpected=tuple(key for key in checkpoint.tensors if not places[key]),
        tied=tied,
    )


def where(checkpoint: Checkpoint) -> Path:
    """Return what a message names: the one file, or the folder of several."""
    first = checkpoint.files[0].own
    return first if len(checkpoint.files) == 1 else first.parent


def _places(
    module: nn.Module, parameters: Mapping[str, Tensor], checkpoint: Checkpoint
) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """Return the names in the module that each key becomes, none for one that is not used.

    Beside them are the keys whose values are cut, joined or turned on the way.
    """
    expected = {**parameters, **dict(module.named_buffers(remove_duplicate=False))}
    rename, converters = _renaming(module, expected)
    places: dict[str, tuple[str, ...]] = {}
    turned: set[str] = set()
    taken: dict[str, str] = {}
    other: dict[str, StoredTensor] = {}  # of another shape
    for key, tensor in checkpoint.tensors.items():
        name, pattern = rename(key)
        if pattern is not None:
            # The shape says nothing.
            turned.add(key)
            targets = _targets(name, converters)
            places[key] = tuple(target for target in targets if target in expected)
            continue
        if name not in expected or (name in taken and name != key):
            places[key] = ()
            continue
        if tensor.shape != tuple(expected[name].shape):
            other[name] = tensor
        if name in taken:  # by an old name, and here is the right one
            places[taken[name]] = ()
        taken[name], places[key] = key, (name,)
    for name, tensor_of in expected.items():
        if (stored := other.get(name)) is not None:
            others = count_text(len(other) - 1, "1 other", "{0} others")
            more = f"; so it is with {others}" if len(other) > 1 else ""
            raise UserError(
                f"{stored.file}: {stored.name} has the shape {list(stored.shape)}, but the "
                f"configuration asks for {list(tensor_of.shape)}{more}"
            )
    return places, turned


def _renaming(
    module: nn.Module, expected: Mapping[str, Tensor]
) -> tuple[Callable[[str], tuple[str, str | None]], list[WeightConverter]]:
    """Return how transformers renames a key, and what it has that also changes its values.

    Of a key it gives the name, and the pattern of the converter that takes it, if one does.
    """
    transforms = get_model_conversion_mapping(module)
    renamings = [t for t in transforms if isinstance(t, WeightRenaming)]
    converters = [t for t in transforms if isinstance(t, WeightConverter)]
    prefix = getattr(module, "base_model_prefix", None)

    def rename(key: str) -> tuple[str, str | None]:
        found: tuple[str, str | None] = rename_source_key(
            key, renamings, converters, prefix, expected
        )
        return found

    return rename, converters


def _targets(name: str, converters: list[WeightConverter]) -> tuple[str, ...]:
    """Return all names that one key is cut into, of which ``name`` is the first."""
    for converter in converters:
        first, *others = converter.target_patterns
        if first in name:
            return (name, *(name.replace(first, other) for other in others))
    return (name,)


def _tied(parameters: Mapping[str, Tensor]) -> dict[str, str]:
    """Return the first name of every tensor that has another one as well, by that one."""
    first_names: dict[int, str] = {}
    tied = {}
    for name, parameter in parameters.items():
        first = first_names.setdefault(id(parameter), name)
        if first != name:
            tied[name] = first
    return tied


def _dtype(parameter: Tensor) -> str:
    return str(parameter.dtype).removeprefix("torch.")
