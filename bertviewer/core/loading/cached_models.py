"""Models that were seen before: structure, formulas, heads, and how a checkpoint fits.

What is kept hangs on all that it follows from: the configuration, the head, the versions of the
libraries and, of a checkpoint, the name, type, shape and place of every tensor. No torch is needed
to find it. A file that was damaged is noticed, and so is one whose counts are not those of its
tensors, whose formulas do not give counts and shapes, or whose tensors are not the checkpoint's.
What else may be wrong in it, as a class's name, is noticed when the model is built: see
``LoadedModel.confirm``. Presets and the demo come with theirs.
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from platformdirs import user_cache_path

from bertviewer.core.building.versions import versions
from bertviewer.core.checkpoints.keys import KeyReport
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.expressions.domains import holds_in
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.loading.cache_store import OddContent, Store
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import Costs
from bertviewer.core.schema.flow import Flows
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import resources_folder
from bertviewer.core.util.log import write_log
from bertviewer.core.util.serialization import by_fields, convert

MOST_BYTES = 100_000_000
"""Of all that is kept of a kind; a BERT takes 10 kB, a model of 1,000 layers 300 kB."""
NO_CACHE = "BERTVIEWER_NO_CACHE"
"""Set in the environment, all is derived anew and nothing is kept: to see what a change does."""
_NOWHERE = SourceInfo("", "", "", "none")

_Found = TypeVar("_Found")


class SeenModel(Struct, frozen=True):
    """What follows from a configuration: the architecture, and the heads that its family has.

    The architecture's ``source`` says nothing. ``notices`` are about keys of the configuration that
    the model does not use.
    """

    architecture: Architecture
    heads: tuple[str, ...]
    notices: tuple[str, ...] = ()

    def is_like(self, found: Architecture, heads: tuple[str, ...]) -> bool:
        """Return whether a model that was just built is the same, but for source and formulas."""

        def without_formulas(node: ModuleNode) -> ModuleNode:
            plain = replace(node, count_formula="", domain=None, forward_formula=None)
            return replace(plain, formula_from=None, role="")

        ours = self.architecture
        return (
            self.heads == heads
            and ours.config == found.config
            and len(ours.modules) == len(found.modules)
            and len(ours.parameters) == len(found.parameters)
            and all(
                without_formulas(one) == without_formulas(other)
                for one, other in zip(ours.modules, found.modules, strict=True)
            )
            and all(
                replace(one, symbolic_shape=None) == other
                for one, other in zip(ours.parameters, found.parameters, strict=True)
            )
        )


def recall_model(source: ModelSource, data: Mapping[str, Any]) -> SeenModel | None:
    """Return what is known of a source's model with the configuration ``data``, if anything."""

    def read(content: Mapping[str, Any]) -> SeenModel:
        return _read_model(content, data)

    return _recall("architectures", source, model_key(source, data), read)


def keep_model(source: ModelSource, data: Mapping[str, Any], seen: SeenModel) -> None:
    """Write what is known of a model for the next time; a full disk is noted in the log."""
    _keep("architectures", model_key(source, data), model_content(seen))


def recall_keys(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint, seen: SeenModel
) -> KeyReport | None:
    """Return how the checkpoint fits the model, if that was found out before."""

    def read(content: Mapping[str, Any]) -> KeyReport:
        return _read_keys(content, checkpoint, seen.architecture)

    return _recall("key-reports", source, keys_key(source, data, checkpoint), read)


def keep_keys(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint, keys: KeyReport
) -> None:
    """Write how a checkpoint fits a model for the next time, likewise."""
    _keep("key-reports", keys_key(source, data, checkpoint), keys_content(keys))


def recall_head(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint
) -> tuple[str, str] | None:
    """Return what ``keep_head`` was given for the same configuration and checkpoint."""

    def read(content: Any) -> tuple[str, str]:
        task, note = map(str, content)
        return task, note

    return _recall("heads", source, keys_key(source, data, checkpoint), read)


def keep_head(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint, task: str, note: str
) -> None:
    """Write with which head a checkpoint was saved, and why if it is another than it says."""
    _keep("heads", keys_key(source, data, checkpoint), [task, note])


def model_key(source: ModelSource, data: Mapping[str, Any]) -> str:
    """Return the hash of all that a model's architecture follows from: 64 hexadecimal digits."""
    untied = [source.untied] if source.untied else []
    return _hash([versions(), source.task.name, data, *untied])


def keys_key(source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint) -> str:
    """Return the hash of all that a key report follows from."""
    files = {file.own.name: file.nbytes for file in checkpoint.files}
    tensors = [
        [key, one.dtype, one.shape, one.file.name, one.offset]
        for key, one in checkpoint.tensors.items()
    ]
    return _hash([model_key(source, data), files, tensors])


def model_content(seen: SeenModel) -> dict[str, Any]:
    """Return a model as plain data, without what is known of its source."""
    architecture, flows = replace(seen.architecture, source=_NOWHERE), seen.architecture.flows
    return {
        "architecture": architecture.to_json(),
        "flows": None if flows is None else flows.to_json(),
        "heads": list(seen.heads),
        "notices": list(seen.notices),
    }


def keys_content(keys: KeyReport) -> dict[str, Any]:
    """Return a key report as plain data, whole."""
    return by_fields(keys)


def shipped(kind: str) -> Store:
    """Return the folder of what comes with the program, under ``MODEL.TASK`` as name."""
    return Store(resources_folder() / "seen" / kind, None)


def shipped_name(source: ModelSource) -> str:
    """Return the name of a preset's or the demo's file among those."""
    return f"{source.name}.{source.task.name}"


def _kept(kind: str) -> Store:
    return Store(user_cache_path("bertviewer", appauthor=False) / kind, MOST_BYTES)


def _recall(
    kind: str, source: ModelSource, key: str, read: Callable[[Any], _Found]
) -> _Found | None:
    if os.environ.get(NO_CACHE):
        return None
    places = [(_kept(kind), key)]
    if source.kind in ("preset", "demo"):
        places.insert(0, (shipped(kind), shipped_name(source)))
    for store, name in places:
        try:
            if (content := store.read(name, key)) is not None:
                return read(content)
        # What a file that was made up may do to the reading of it.
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            write_log(f"{store.folder / name}: discarded: {error!r}")
            store.remove(name)
    return None


def _keep(kind: str, key: str, content: Any) -> None:
    if os.environ.get(NO_CACHE):
        return
    try:
        _kept(kind).write(key, key, content)
    except UserError as error:
        write_log(f"not cached: {error}")


def _hash(ground: object) -> str:
    # A key's place in a configuration may be its place on screen, so it is not sorted.
    return hashlib.sha256(json.dumps(ground).encode()).hexdigest()


def _read_model(content: Mapping[str, Any], data: Mapping[str, Any]) -> SeenModel:
    architecture = Architecture.from_json(content["architecture"])
    if content["flows"] is not None:
        architecture = replace(architecture, flows=Flows.from_json(content["flows"]))
    heads = convert(content["heads"], tuple[str, ...])
    notices = convert(content.get("notices", []), tuple[str, ...])
    seen = SeenModel(architecture, heads, notices)
    if seen.architecture.config.get("model_type") != data.get("model_type"):
        raise OddContent("it belongs to another model family")
    _prove(seen.architecture)
    return seen


def _read_keys(
    content: Mapping[str, Any], checkpoint: Checkpoint, architecture: Architecture
) -> KeyReport:
    keys = convert(content, KeyReport)
    shapes = {tensor.name: tensor.shape for tensor in architecture.parameters}
    for name, key in keys.stored.items():
        if shapes.get(name, checkpoint.tensors[key].shape) != checkpoint.tensors[key].shape:
            raise OddContent(f"{name} has another shape in the checkpoint")
    return keys


def _prove(architecture: Architecture) -> None:
    """Raise ``OddContent`` unless counts are those of the tensors, and formulas give them all."""
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    total = architecture.root.parameters
    for node in architecture.modules:
        tensors = [t for t in architecture.tensors_below(node.path) if t.tied_to is None]
        count = sum(tensor.numel for tensor in tensors)
        if not count == node.parameters == evaluate(node.count_formula, values):
            raise OddContent(f"the count of {node.path!r} is not {node.count_formula}")
        if not holds_in(node.domain, values):
            raise OddContent(f"the model does not satisfy the conditions of {node.path!r}")
        own = sum(tensor.numel for tensor in tensors if tensor.owner == node.path)
        trainable = sum(tensor.numel for tensor in tensors if tensor.trainable)
        share = count / total if total else 0.0
        if (own, trainable, share) != (node.own_parameters, node.trainable, node.share):
            raise OddContent(f"the parts of {node.path!r} are not those of its tensors")
    for tensor in architecture.parameters:
        symbolic = tensor.symbolic_shape
        if symbolic is not None:
            shape = tuple(evaluate(size, values) for size in symbolic)
            if shape != tensor.shape:
                raise OddContent(f"the shape of {tensor.name} is not {symbolic}")
    if architecture.costs is not None:
        _prove_costs(architecture.costs, values)
    cache, lengths = architecture.kv_cache, {"B": 1, "S": 1, "S_d": 1}
    if cache is not None and cache.bytes({**values, **lengths}, "float32") is None:
        raise OddContent("the cache formulas are not valid for this model")
    if architecture.flows is not None:
        _prove_flows(architecture.flows, {node.path for node in architecture.modules})


def _prove_costs(costs: Costs, values: Mapping[str, int]) -> None:
    """Raise ``OddContent`` unless the formulas of a forward pass say something of the model."""
    values = {**values, **{symbol.letter: symbol.value for symbol in costs.symbols}}
    if not holds_in(costs.domain, values):
        raise OddContent("the cost formulas are not valid for this model")
    for module in costs.modules.values():
        for formula in (module.macs, *(module.input_shape or ()), *(module.output_shape or ())):
            if formula is not None:
                evaluate(formula, values)
    for formula in costs.peak:
        evaluate(formula, values)


def _prove_flows(flows: Flows, paths: Collection[str]) -> None:
    """Raise ``OddContent`` unless flows are of the model's modules, and hang together."""
    if not {*flows.distinct, *flows.like, *flows.missing} <= set(paths):
        raise OddContent("a data flow belongs to a module that the model does not have")
    if not flows.distinct.keys() >= set(flows.like.values()):
        raise OddContent("a module refers to the data flow of a module without one")
    for path, flow in flows.distinct.items():
        if flow.path != path or not flow.is_consistent:
            raise OddContent(f"the flow of {path!r} is inconsistent")
