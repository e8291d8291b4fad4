"""Models built on torch's meta device, read as an ``Architecture``."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from torch import nn

from bertviewer.core.building.configurations import build_config, plain_config
from bertviewer.core.building.models import build_on_meta, task_names, untie
from bertviewer.core.building.unused_keys import find_unused_keys
from bertviewer.core.checkpoints.reading import untied_names
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.formulas.catalogue import with_formulas
from bertviewer.core.loading.cached_models import ModelSpec, load_spec
from bertviewer.core.loading.matching import match, tied_names
from bertviewer.core.loading.structure import NodeBuilder
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.presets import check_demo_weights
from bertviewer.core.util.budget import OverBudget, limited
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.memory import gc_paused
from bertviewer.core.util.progress import Progress

_SCALARS = (str, int, float, type(None))
_MODULE_ATTRIBUTES = frozenset({*vars(nn.Module()), "call_super_init", "dump_patches"})
"""Attributes that every module has."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def read_meta_model(
    source: ModelSource,
    data: Mapping[str, Any],
    checkpoint: Checkpoint | None,
    cached: ModelSpec | None,
    progress: Progress,
) -> ModelSpec:
    """Build the model of a checked configuration and compare it with the cache.

    Args:
        source: what to open.
        data: the configuration.
        checkpoint: where the weights are stored, ``None`` without weights.
        cached: what the cache has; if it matches, its formulas are used.
        progress: reports steps, and may cancel.

    Raises:
        UserError: it cannot be built, or not within the limits of time and memory; it does not fit
            the checkpoint; or the demo's weights are not the published ones.
        Cancelled: by ``progress``.
    """
    if source.kind == "demo":
        check_demo_weights(source.path)
    try:
        with limited(progress) as limits:
            limits.report(0, 3, "Reading the configuration")
            config = build_config(data, source.name)
            limits.report(1, 3, "Building the architecture")
            module = build_on_meta(config, source.task, source.name, source.untied)
            limits.report(2, 3, "Reading modules and tensors")
            # As JSON, so that it equals what is read back from an export.
            plain = plain_config(config, source.name, data)
            use = find_unused_keys(module, config, data, plain)
    except OverBudget as error:
        raise UserError(f"{source.name}: its architecture cannot be built: {error}") from error
    try:
        report = None if checkpoint is None else match(module, checkpoint)
    except UserError as error:
        # A mismatch is often due to a mechanism that the class lacks.
        raise UserError(". ".join((str(error), *use.notices))) from error
    if checkpoint is not None and report is not None:
        if names := untied_names(report, checkpoint, progress):
            source = replace(source, untied=(*source.untied, *names))
            untie(module, names)
            report = match(module, checkpoint)
            cached = load_spec(source, data)
        report = replace(report, untied=source.untied)
    used = {key: value for key, value in plain.items() if key not in use.unused}
    architecture = inspect_module(module, source.info(report), used, use.unused)
    built = ModelSpec(source, architecture, task_names(config), use.notices, report, config)
    if cached is None or not cached.matches(built):
        return built
    info, unused = architecture.source, architecture.unused
    known = replace(cached.architecture, source=info, unused=unused)
    return replace(built, architecture=known)


@gc_paused()
def inspect_module(
    module: nn.Module,
    source: SourceInfo,
    config: Mapping[str, Any],
    unused: Mapping[str, Any] | None = None,
) -> Architecture:
    """Return the structure of a module; counts are plain numbers until formulas are derived.

    ``unused`` are keys of the configuration that the module does not read: they have no symbols.
    """
    tied = tied_names(module)
    tensors = tuple(
        TensorInfo(
            name=name,
            shape=tuple(parameter.shape),
            dtype=str(parameter.dtype).removeprefix("torch."),
            trainable=parameter.requires_grad,
            tied_to=tied.get(name),
        )
        for name, parameter in module.named_parameters(remove_duplicate=False)
    )
    builders = _node_builders(module, tensors)
    total = builders[0].parameters
    plain = Architecture(
        source,
        config,
        symbols_of(config),
        tuple(builder.node(total) for builder in builders),
        tensors,
        unused=unused or {},
    )
    return with_formulas(plain)


def _node_builders(module: nn.Module, tensors: tuple[TensorInfo, ...]) -> list[NodeBuilder]:
    """Return a builder for each module, in the order of ``named_modules()``."""
    own: dict[str, list[TensorInfo]] = {}
    for tensor in tensors:
        own.setdefault(tensor.owner, []).append(tensor)
    builders: dict[int, NodeBuilder] = {}
    signatures: dict[object, int] = {}

    def walk(module: nn.Module, path: str) -> NodeBuilder:
        kind = type(module)
        attributes = {
            name: value
            for name, value in vars(module).items()
            if name not in _MODULE_ATTRIBUTES
            and isinstance(value, _SCALARS)
            and not name.startswith("_")
        }
        extra = _extra_repr(module)
        builder = NodeBuilder(path, kind.__name__, kind.__module__, attributes, extra)
        builders[id(module)] = builder
        for name, child in module.named_children():
            below = builders.get(id(child)) or walk(child, builder.child_path(name))
            builder.children.append((name, below))
        builder.finish(own.get(path, ()), signatures, (kind, extra))
        return builder

    walk(module, "")
    return list(builders.values())


def _extra_repr(module: nn.Module) -> str:
    """Return what ``print`` writes in brackets after the class: some classes replace ``repr``."""
    start, text = f"{type(module).__name__}(", ""
    if next(module.children(), None) is None:
        text = repr(module)
    is_usual = text.startswith(start) and text.endswith(")")
    found = text[len(start) : -1] if is_usual else module.extra_repr()
    # Addresses of objects differ from run to run.
    return " ".join(_ADDRESS.sub("", found).split())
