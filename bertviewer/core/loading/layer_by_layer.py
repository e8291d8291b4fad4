"""Layer-by-layer execution of models that are larger than memory.

The matrices of each layer, and the token embeddings, stay in the checkpoint as ``LazyParameter``s
and are in memory only while their module is called.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.analysis.layers import layer_paths, unit_of, unit_paths
from bertviewer.core.building.backend import torch
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.checkpoints.stored import Checkpoint, StoredTensor
from bertviewer.core.graph.module_calls import enter_on_call
from bertviewer.core.loading.lazy_parameter import LazyParameter, loaded_parameters
from bertviewer.core.loading.matching import shown_path
from bertviewer.core.loading.pretrained import check_unchanged, load_pretrained
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


class OffloadPlan(Struct, frozen=True):
    """Which parameters of a model stay in its files.

    Attributes:
        units: the paths of the modules that are loaded for their calls: layers, and modules with
            token embeddings.
        keys: the checkpoint's keys of these parameters.
        largest: the bytes of the largest unit.
        rest: the bytes of all other parameters.
    """

    units: tuple[str, ...]
    keys: tuple[str, ...]
    largest: int
    rest: int


class OffloadState(Struct):
    """How a model's lazy parameters are loaded.

    Attributes:
        units: the paths of the modules that are loaded for their calls.
        progress: is called before a unit is loaded, and can stop it.
    """

    units: tuple[str, ...]
    progress: Progress = no_progress


def plan_offload(meta: nn.Module, architecture: Architecture, report: LoadReport) -> OffloadPlan:
    """Return which parameters can stay in the files.

    These are the matrices of layers and the token embeddings that are stored as they are used, and
    not those that transformers splits, joins or transposes. Vectors are a thousandth of all
    parameters, and other modules are small or used from elsewhere.

    Args:
        meta: the model on the meta device.
        architecture: its layers.
        report: where its parameters are stored.
    """
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in meta.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    every = unit_paths(architecture)
    tables = [_unit(name, every) for table in _embeddings(meta) for name in names[table]]
    units = tuple(dict.fromkeys((*layer_paths(architecture), *filter(None, tables))))
    found: list[str] = []
    sizes: Counter[str] = Counter()
    rest = 0
    for parameter, aliases in names.items():
        stored = [report.stored[name] for name in aliases if name in report.stored]
        holders = {_unit(name, units) for name in aliases}
        if len(stored) != 1 or None in holders or parameter.dim() < 2:
            rest += parameter.nbytes
            continue
        found += stored
        sizes.update({unit: parameter.nbytes for unit in holders if unit is not None})
    return OffloadPlan(units, tuple(found), max(sizes.values(), default=0), rest)


def load_layer_by_layer(  # noqa: PLR0917
    meta: nn.Module,
    config: Any,
    checkpoint: Checkpoint,
    report: LoadReport,
    plan: OffloadPlan,
    untied: Collection[str],
    progress: Progress,
) -> tuple[nn.Module, tuple[str, ...], OffloadState]:
    """Return a module with lazy parameters, and the names of its random ones.

    transformers assembles it from placeholders instead of weights, so that random parameters and
    buffers are bit-identical to those of the model in memory.

    Raises:
        UserError: a file has changed, a weight is no float, or transformers refuses the weights.
    """
    stored = check_unchanged(checkpoint.tensors[key] for key in plan.keys)
    different = {report.stored.get(name) for name in untied}
    # transformers compares the values of what the class ties, and ties equal ones.
    placeholders = {one.name: _Placeholder(one.shape, int(one.name in different)) for one in stored}
    module, random = load_pretrained(meta, config, checkpoint, report, progress, placeholders)
    of_pointer = {it.data_ptr(): one for one in stored for it in placeholders[one.name].created}
    if changed := _make_lazy(module, of_pointer):
        raise UserError(
            f"{shown_path(checkpoint)}: it cannot be run layer by layer, since {changed} is "
            "changed as it is loaded"
        )
    state = OffloadState(plan.units)
    load_on_call(module, state)
    return module, random, state


def load_on_call(module: nn.Module, state: OffloadState) -> None:
    """Load the lazy parameters of each unit before its calls, and unload them afterwards.

    accelerate's ``disk_offload`` is not used. It is as fast (bert-large takes 1.33 times as long as
    in memory, with this function 1.44), but it fails where a weight is used outside its module
    (DeBERTa's relative positions), computes with the new values when a file is replaced during a
    run, can't be cancelled, and can't share one load among several passes.
    """
    for number, path in enumerate(state.units):
        unit = module.get_submodule(path)
        enter_on_call(unit, partial(_loaded, unit, state, number))


@contextmanager
def _loaded(unit: nn.Module, state: OffloadState, number: int) -> Iterator[None]:
    def report(done: int, total: int, label: str) -> None:
        del done, total, label  # of the bytes of this unit
        state.progress(number, len(state.units), f"Reading {state.units[number]}")

    with loaded_parameters(unit, report):
        yield


def _make_lazy(module: nn.Module, stored: Mapping[int, StoredTensor]) -> str:
    """Replace placeholders by lazy parameters; return the key of an unused placeholder, or ""."""
    made: dict[int, LazyParameter] = {}
    for owner in module.modules():
        for name, parameter in [*owner.named_parameters(recurse=False, remove_duplicate=False)]:
            if (place := stored.get(parameter.data_ptr())) is None:
                continue
            if id(parameter) not in made:
                made[id(parameter)] = LazyParameter(place, parameter.dtype, parameter.device)
            setattr(owner, name, made[id(parameter)])
    used = {parameter.stored.name for parameter in made.values()}
    return next((place.name for place in stored.values() if place.name not in used), "")


def _unit(name: str, units: tuple[str, ...]) -> str | None:
    return unit_of(name.rpartition(".")[0], units)


def _embeddings(meta: Any) -> Collection[nn.Parameter]:
    """Return the parameters that have a row for each token of the vocabulary."""
    found: dict[nn.Parameter, None] = {}
    for getter in ("get_input_embeddings", "get_output_embeddings"):
        try:
            module = getattr(meta, getter)()
        except (AttributeError, NotImplementedError):
            continue
        if isinstance(weight := getattr(module, "weight", None), nn.Parameter):
            found[weight] = None
    return found


class _Placeholder:
    """A tensor that stores one number, expanded to a shape.

    transformers reads it like a slice of a safetensors file; ``created`` are the results.
    """

    def __init__(self, shape: tuple[int, ...], value: int) -> None:
        self.shape = shape
        self._value = value
        self.created: list[Tensor] = []

    def __getitem__(self, _all: Any) -> "_Placeholder":
        return self

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> Tensor:
        """Return a new expanded tensor."""
        single = torch.full((), self._value, dtype=dtype, device=device)
        self.created.append(single.expand(self.shape))
        return self.created[-1]
