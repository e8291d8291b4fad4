"""Matching of a checkpoint's tensors to those of a module, by name and shape.

Checkpoints name tensors in many ways: with or without the base model's prefix (``bert.``), as
TensorFlow named LayerNorm's (``gamma``, ``beta``), or as a family's authors did. transformers'
own renaming rules are applied to the names alone: it offers a report only together with loading,
which needs values. Prefixes of wrappers, such as ``module.`` and ``0.auto_model.``, which
transformers does not know, are removed before (see ``clean_keys``).
"""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor, nn
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key

from bertviewer.core.checkpoints.load_report import LoadReport, prefixes_of, without_wrappers
from bertviewer.core.checkpoints.quantization import packed_weights
from bertviewer.core.checkpoints.stored import Checkpoint, StoredTensor
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import shown_name

_MAX_NAMED = 3
_COMPUTED = re.compile(
    r"(^|\.)(position_ids|token_type_ids|inv_freq|masked_bias|(cos|sin)_cached|_float_tensor|version)$"
)
"""Buffers that modules of older versions of transformers stored."""
_CAUSAL_MASK = re.compile(r"(^|\.)attn?(ention)?\.bias$")
"""Another such buffer, with the name of a bias but the shape [1, 1, S, S]."""


def match(module: nn.Module, checkpoint: Checkpoint) -> LoadReport:
    """Return how a checkpoint fits a module, which may be on the meta device.

    Raises:
        UserError: it has none of the module's tensors, or one of another shape.
    """
    parameters = dict(module.named_parameters(remove_duplicate=False))
    key_map = _KeyMap(module)
    targets, converted = _assign(key_map, checkpoint)
    tied = tied_names(module)
    held = {tied.get(name, name) for names in targets.values() for name in names}
    firsts = [name for name in parameters if name not in tied]
    if held.isdisjoint(firsts):
        raise UserError(
            f"{shown_path(checkpoint)}: none of its tensors belongs to this architecture"
        )
    names = {key: names[0] for key, names in targets.items() if names}
    merged = {name for name, count in Counter(names.values()).items() if count > 1}
    stored = {
        name: key for key, name in names.items() if name not in merged and key not in converted
    }
    unused = [key for key in checkpoint.tensors if not targets[key]]
    buffers = tuple(key for key in unused if key_map.is_computed(checkpoint.tensors[key]))
    return LoadReport(
        files={file.own.name: file.nbytes for file in checkpoint.files},
        stored_dtypes=Counter(tensor.dtype for tensor in checkpoint.tensors.values()),
        dtype=str(parameters[firsts[0]].dtype).removeprefix("torch."),
        tensors=len(firsts),
        stored=stored,
        renamed={key: name for key, name in names.items() if key != name},
        # What is never trained, such as sinusoidal positions, is computed and rarely saved.
        missing=tuple(n for n in firsts if n not in held and parameters[n].requires_grad),
        unexpected=tuple(key for key in unused if key not in set(buffers)),
        tied=tied,
        stored_twice=_stored_twice(getattr(module, "all_tied_weights_keys", {}), stored),
        buffers=buffers,
    )


def shown_path(checkpoint: Checkpoint) -> Path:
    """Return the path for messages: the one file, or the folder of several."""
    first = checkpoint.files[0].own
    return first if len(checkpoint.files) == 1 else first.parent


def clean_keys(module: nn.Module, checkpoint: Checkpoint) -> dict[str, str]:
    """Return a checkpoint's keys without the prefixes of wrappers, by the original key.

    Raises:
        UserError: it has several models that fit the module equally well.
    """
    return _KeyMap(module).cleaned(tuple(checkpoint.tensors), shown_path(checkpoint))


class _KeyMap:
    """Converts a checkpoint's keys to the names of a module's tensors.

    Attributes:
        expected: the module's parameters and persistent buffers, which a checkpoint has.
    """

    def __init__(self, module: nn.Module) -> None:
        tensors = {
            **dict(module.named_parameters(remove_duplicate=False)),
            **dict(module.named_buffers(remove_duplicate=False)),
        }
        saved = module.state_dict(keep_vars=True)
        self.expected: dict[str, Tensor] = {n: t for n, t in tensors.items() if n in saved}
        self._computed = tensors.keys() - saved.keys()
        transforms = get_model_conversion_mapping(module)
        self._renamings = [t for t in transforms if isinstance(t, WeightRenaming)]
        self._converters = [t for t in transforms if isinstance(t, WeightConverter)]
        self._prefix = getattr(module, "base_model_prefix", None)
        self._parameters = sum(1 for _ in module.parameters())

    def is_computed(self, tensor: StoredTensor) -> bool:
        """Return whether a stored tensor is a buffer that the module computes."""
        name, _ = self._renamed(without_wrappers(tensor.name))
        if len(tensor.shape) == 4 and tensor.shape[:2] == (1, 1) and _CAUSAL_MASK.search(name):
            return True
        base = f"{self._prefix}."
        names = {name, name.removeprefix(base), base + name}
        return not names.isdisjoint(self._computed) or _COMPUTED.search(name) is not None

    def targets(self, key: str) -> tuple[tuple[str, ...], bool]:
        """Return the names that a clean key is converted to, and whether its values change too."""
        name, pattern = self._renamed(key)
        if pattern is None:
            return ((name,) if name in self.expected else ()), False
        return tuple(one for one in self._split_names(name) if one in self.expected), True

    def cleaned(self, keys: tuple[str, ...], place: Path) -> dict[str, str]:
        """Return the keys without what wrappers have added: inner modules, and one prefix.

        A prefix is removed if the names that follow it are those of more than half of the module's
        parameters (a part of another model is not mistaken for this one).

        Raises:
            UserError: several prefixes fit equally well, such as a teacher's and a student's.
        """
        found = {key: key for key in keys}
        unfit = [key for key in keys if not self.targets(key)[0]]
        for key in unfit:
            found[key] = without_wrappers(key)
        left = {key: None for key in unfit if not self.targets(found[key])[0]}
        # Names that are assigned already.
        taken = {name for key in keys if key not in left for name in self.targets(found[key])[0]}
        held: dict[str, set[str]] = {}
        for key in left:
            for prefix in prefixes_of(found[key]):
                names = self.targets(found[key].removeprefix(prefix))[0]
                held.setdefault(prefix, set()).update(set(names) - taken)
        # The first of the best, and of nested ones the shortest.
        best = max(held, key=lambda prefix: len(held[prefix]), default="")
        if 2 * len(held.get(best, ())) > self._parameters:
            equal = [p for p in held if held[p] == held[best] and not p.startswith(best)]
            if equal:
                raise UserError(
                    f"{place}: it holds several models of this architecture "
                    f"({', '.join(map(shown_name, (best, *equal[:_MAX_NAMED])))}); save "
                    "one model's tensors to a file and open that"
                )
            found |= {key: found[key].removeprefix(best) for key in left}
        return found

    def _renamed(self, key: str) -> tuple[str, str | None]:
        """Return transformers' name of a key, and the pattern of its converter if it has one."""
        found: tuple[str, str | None] = rename_source_key(
            key, self._renamings, self._converters, self._prefix, self.expected
        )
        return found

    def _split_names(self, name: str) -> tuple[str, ...]:
        """Return all names that one key is split into, of which ``name`` is the first."""
        for converter in self._converters:
            first, *others = converter.target_patterns
            if first in name:
                return (name, *(name.replace(first, other) for other in others))
        return (name,)


def _assign(
    key_map: _KeyMap, checkpoint: Checkpoint
) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """Return the module's names for each key, () for an unused one.

    Also return the keys whose values are split, merged or transposed.

    Raises:
        UserError: a tensor has another shape than the module's.
    """
    targets: dict[str, tuple[str, ...]] = {}
    converted: set[str] = set()
    taken: dict[str, str] = {}
    packed = packed_weights(checkpoint.tensors)
    weights = tuple(packed.get(key, key) for key in checkpoint.tensors)
    clean = key_map.cleaned(tuple(dict.fromkeys(weights)), shown_path(checkpoint))
    for key in checkpoint.tensors:
        names, is_converted = key_map.targets(clean[packed.get(key, key)])
        if is_converted or key in packed:
            converted.add(key)
            targets[key] = names
        elif not names or (names[0] in taken and names[0] != key):
            targets[key] = ()
        else:
            if names[0] in taken:  # by an old name; this is the current one
                targets[taken[names[0]]] = ()
            taken[names[0]], targets[key] = key, names
    shapes = {name: tuple(tensor.shape) for name, tensor in key_map.expected.items()}
    mismatches = [
        name
        for name in shapes
        if name in taken and checkpoint.tensors[taken[name]].shape != shapes[name]
    ]
    if mismatches:
        stored = checkpoint.tensors[taken[mismatches[0]]]
        others = count_text(len(mismatches) - 1, "1 other", "{0} others")
        more = f"; the same applies to {others}" if len(mismatches) > 1 else ""
        raise UserError(
            f"{stored.file}: {stored.name} has the shape {list(stored.shape)}, but the "
            f"configuration requires {list(shapes[mismatches[0]])}{more}"
        )
    return targets, converted


def _stored_twice(ties: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """Return the tied names that are stored in addition to the tensor they are tied to.

    Each with that tensor's name: the source that the class names, or the first of its targets if
    the source is not stored; see ``PreTrainedModel.tie_weights``.
    """
    leaders: dict[str, str] = {}
    twice = {}
    for target, source in ties.items():
        if source in stored:
            leaders[source] = source
        if target not in stored:
            continue
        if source in leaders:
            twice[target] = leaders[source]
        else:
            leaders[source] = target
    return twice


def tied_names(module: nn.Module) -> dict[str, str]:
    """Return the first name of every parameter that has several, by each of the others."""
    first_names: dict[int, str] = {}
    named = module.named_parameters(remove_duplicate=False)
    firsts = {name: first_names.setdefault(id(parameter), name) for name, parameter in named}
    return {name: first for name, first in firsts.items() if name != first}
