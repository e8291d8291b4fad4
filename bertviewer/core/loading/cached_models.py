"""Derived data of models on disk, so that they open without torch.

Entries are valid for one hash of everything that they depend on: the configuration, the head, the
versions of the libraries and, for a checkpoint, the name, dtype, shape and position of each tensor.
They are validated when they are read: counts against tensors, formulas against counts and shapes,
tensors against the checkpoint. What remains, such as a wrong class name, is found when the model is
built, see ``LoadedModel.ensure_built``. Presets and the demo come with their entries.
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from bertviewer.core.building.versions import versions
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.expressions.evaluation import all_met, evaluate
from bertviewer.core.saving.disk_cache import JsonStore, cache_folder
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import Costs
from bertviewer.core.schema.flow import Flows
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import resources_folder
from bertviewer.core.util.log import write_log
from bertviewer.core.util.serialization import convert, struct_to_json

MAX_BYTES = 100_000_000
"""Of each kind of entry; a BERT takes 10 kB, a model of 1,000 layers 300 kB."""
NO_CACHE = "BERTVIEWER_NO_CACHE"
"""Environment variable that disables the cache."""
_NO_SOURCE = SourceInfo("", "", "", "none")

_Found = TypeVar("_Found")


class ModelSpec(Struct, frozen=True):
    """A model's structure, from the cache or built on the meta device.

    Attributes:
        source: where it comes from, with the parameters that its checkpoint leaves untied.
        architecture: with formulas, if they have been derived.
        tasks: the names of the tasks that its family has a class for.
        notices: on keys of the configuration that the model does not use.
        load_report: how a checkpoint fits it, ``None`` without one.
        config: transformers' configuration object, ``None`` if the model was not built.
    """

    source: ModelSource
    architecture: Architecture
    tasks: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    load_report: LoadReport | None = None
    config: Any = None

    def matches(self, built: "ModelSpec") -> bool:
        """Return whether both have the same structure, configuration and tasks.

        Sources and formulas may differ.
        """
        return (
            self.tasks == built.tasks
            and self.architecture.config == built.architecture.config
            and _without_formulas(self.architecture) == _without_formulas(built.architecture)
        )


def load_spec(source: ModelSource, data: Mapping[str, Any]) -> ModelSpec | None:
    """Return the cached model with the configuration ``data``, if there is one."""

    def read(content: Mapping[str, Any]) -> ModelSpec:
        architecture = Architecture.from_json(content["architecture"])
        if content["flows"] is not None:
            architecture = replace(architecture, flows=Flows.from_json(content["flows"]))
        if architecture.config.get("model_type") != data.get("model_type"):
            raise ValidationError("it belongs to another model family")
        _validate(architecture)
        tasks = convert(content["heads"], tuple[str, ...])
        notices = convert(content.get("notices", []), tuple[str, ...])
        return ModelSpec(source, architecture, tasks, notices)

    return _load("architectures", source, spec_key(source, data), read)


def store_spec(spec: ModelSpec, data: Mapping[str, Any]) -> None:
    """Cache a model; a failure to write is only logged."""
    _store("architectures", spec_key(spec.source, data), spec_content(spec))


def load_report(
    spec: ModelSpec, data: Mapping[str, Any], checkpoint: Checkpoint
) -> LoadReport | None:
    """Return the cached report on how a checkpoint fits a model, if there is one."""

    def read(content: Mapping[str, Any]) -> LoadReport:
        report = convert(content, LoadReport)
        shapes = {tensor.name: tensor.shape for tensor in spec.architecture.parameters}
        for name, key in report.stored.items():
            shape = checkpoint.tensors[key].shape
            if shapes.get(name, shape) != shape:
                raise ValidationError(f"{name} has another shape in the checkpoint")
        return report

    return _load("key-reports", spec.source, report_key(spec.source, data, checkpoint), read)


def store_report(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint, report: LoadReport
) -> None:
    """Cache how a checkpoint fits a model."""
    _store("key-reports", report_key(source, data, checkpoint), struct_to_json(report))


def load_head(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint
) -> tuple[str, str] | None:
    """Return the cached task and note of ``store_head``, if there are any."""

    def read(content: Any) -> tuple[str, str]:
        return convert(content, tuple[str, str])

    return _load("heads", source, report_key(source, data, checkpoint), read)


def store_head(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint, task: str, note: str
) -> None:
    """Cache the task that a checkpoint was saved for, and a note if it names another one."""
    _store("heads", report_key(source, data, checkpoint), [task, note])


def spec_key(source: ModelSource, data: Mapping[str, Any]) -> str:
    """Return the hash of all that an architecture depends on: 64 hexadecimal digits."""
    untied = [source.untied] if source.untied else []
    return _hash([versions(), source.task.name, data, *untied])


def report_key(source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint) -> str:
    """Return the hash of all that a load report depends on."""
    files = {file.own.name: file.nbytes for file in checkpoint.files}
    tensors = [
        [key, one.dtype, one.shape, one.file.name, one.offset]
        for key, one in checkpoint.tensors.items()
    ]
    return _hash([spec_key(source, data), files, tensors])


def spec_content(spec: ModelSpec) -> dict[str, Any]:
    """Return a model as plain data, without its source."""
    architecture, flows = replace(spec.architecture, source=_NO_SOURCE), spec.architecture.flows
    return {
        "architecture": architecture.to_json(),
        "flows": None if flows is None else flows.to_json(),
        "heads": list(spec.tasks),
        "notices": list(spec.notices),
    }


def bundled(kind: str) -> JsonStore:
    """Return the read-only entries of a kind that are part of the program."""
    return JsonStore(resources_folder() / "seen" / kind, None)


def bundled_name(source: ModelSource) -> str:
    """Return the name of a preset's or the demo's bundled entries."""
    return f"{source.name}.{source.task.name}"


def _load(kind: str, source: ModelSource, key: str, read: Callable[[Any], _Found]) -> _Found | None:
    if os.environ.get(NO_CACHE):
        return None
    places = [(_user_store(kind), key)]
    if source.kind in ("preset", "demo"):
        places.insert(0, (bundled(kind), bundled_name(source)))
    for store, name in places:
        try:
            if (content := store.read(name, key)) is not None:
                return read(content)
        # What reading a manipulated file may raise.
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            write_log(f"{store.folder / name}: discarded: {error!r}")
            store.remove(name)
    return None


def _store(kind: str, key: str, content: Any) -> None:
    if os.environ.get(NO_CACHE):
        return
    try:
        _user_store(kind).write(key, key, content)
    except UserError as error:
        write_log(f"not cached: {error}")


def _user_store(kind: str) -> JsonStore:
    return JsonStore(cache_folder(kind), MAX_BYTES)


def _hash(data: object) -> str:
    # Not sorted: the order of keys in a configuration is the order on screen.
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()


def _without_formulas(architecture: Architecture) -> list[object]:
    empty: dict[str, Any] = dict.fromkeys(("domain", "forward_formula", "formula_from"))
    empty |= {"count_formula": "", "role": ""}
    modules = [replace(node, **empty) for node in architecture.modules]
    return [*modules, *(replace(t, symbolic_shape=None) for t in architecture.parameters)]


def _validate(architecture: Architecture) -> None:
    """Check that counts are those of the tensors, and formulas give counts and shapes.

    Raises:
        ValueError: they don't.
    """
    values = architecture.symbol_values
    total = architecture.root.parameters
    for node in architecture.modules:
        tensors = [t for t in architecture.tensors_below(node.path) if t.tied_to is None]
        count = sum(tensor.numel for tensor in tensors)
        if not count == node.parameters == evaluate(node.count_formula, values):
            raise ValidationError(f"the count of {node.path!r} is not {node.count_formula}")
        if not all_met(node.domain, values):
            raise ValidationError(f"the model does not satisfy the conditions of {node.path!r}")
        own = sum(tensor.numel for tensor in tensors if tensor.owner == node.path)
        trainable = sum(tensor.numel for tensor in tensors if tensor.trainable)
        share = count / total if total else 0.0
        if (own, trainable, share) != (node.own_parameters, node.trainable, node.share):
            raise ValidationError(f"the parts of {node.path!r} are not those of its tensors")
    for tensor in architecture.parameters:
        symbolic = tensor.symbolic_shape
        if symbolic is not None:
            shape = tuple(evaluate(size, values) for size in symbolic)
            if shape != tensor.shape:
                raise ValidationError(f"the shape of {tensor.name} is not {symbolic}")
    if architecture.costs is not None:
        _validate_costs(architecture.costs, values)
    cache, lengths = architecture.kv_cache, {"B": 1, "S": 1, "S_d": 1}
    if cache is not None and cache.bytes({**values, **lengths}, "float32") is None:
        raise ValidationError("the cache formulas are not valid for this model")
    if architecture.flows is not None:
        _validate_flows(architecture.flows, {node.path for node in architecture.modules})


def _validate_costs(costs: Costs, values: Mapping[str, int]) -> None:
    """Check that the formulas of a forward pass can be evaluated for the model."""
    values = {**values, **{symbol.name: symbol.value for symbol in costs.symbols}}
    if not all_met(costs.domain, values):
        raise ValidationError("the cost formulas are not valid for this model")
    for module in costs.modules.values():
        for formula in (module.macs, *(module.input_shape or ()), *(module.output_shape or ())):
            if formula is not None:
                evaluate(formula, values)
    for formula in costs.peak:
        evaluate(formula, values)


def _validate_flows(flows: Flows, paths: Collection[str]) -> None:
    """Check that flows belong to the model's modules and are consistent."""
    if not {*flows.distinct, *flows.like, *flows.missing} <= set(paths):
        raise ValidationError("a data flow belongs to a module that the model does not have")
    if not flows.distinct.keys() >= set(flows.like.values()):
        raise ValidationError("a module refers to the data flow of a module without one")
    for path, flow in flows.distinct.items():
        if flow.path != path or not flow.is_consistent:
            raise ValidationError(f"the flow of {path!r} is inconsistent")
