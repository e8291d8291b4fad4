"""The reference instance: built by transformers from the configuration, with a model's weights.

Nothing that was done to the model's own modules is in it. Buffers that are not weights, such as
rotary frequencies and causal masks, are computed from the configuration.
"""

from collections.abc import Collection, Mapping
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.building.buffers import compute_buffers
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.loading.layer_by_layer import attach
from bertviewer.core.loading.lazy_parameter import AbsentWeight
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.weight_loading import without_caches
from bertviewer.core.runs.big_bird_attention import choose_attention
from bertviewer.core.schema.source_info import SEED


class ReferenceModule(Struct, frozen=True, eq=False):
    """A reference instance.

    Attributes:
        module: it, in eval mode on the CPU.
        buffers: by the path of their module a copy of each buffer that was computed from the
            configuration, by name.
    """

    module: nn.Module
    buffers: Mapping[str, Mapping[str, Tensor]]


def reference_of(model: LoadedModel, inputs: Mapping[str, Any]) -> ReferenceModule:
    """Build the reference instance of a model.

    Its parameters are the same tensors as the model's where these are on the CPU, so that no second
    copy of the weights is made. Buffers that the checkpoint has, such as the running means of a
    BatchNorm, are copied. Other buffers, and parameters that are neither trained nor in the
    checkpoint, such as sinusoidal positions, are computed from the configuration, and have the
    dtype of the model's. A tensor of another shape, or one that the model lacks, stays without
    numbers.

    Args:
        model: the model, with its weights loaded.
        inputs: what it will be called with.

    Raises:
        UserError: no second instance can be built.
    """
    running = model.running_module
    module, computed = _built(model, SEED)
    if _differing(module, running, computed):
        # What is drawn at random differs with another seed, and is copied.
        computed -= _differing(module, _built(model, SEED + 1)[0], computed)
    others, buffers = dict(running.named_modules()), dict[str, dict[str, Tensor]]()
    for path, part in module.named_modules():
        names = sorted(name for owner, name in computed if owner == path)
        if path in others:
            _fill(part, others[path], names)
        buffers[path] = {name: getattr(part, name).detach().clone() for name in names}
    if model.reading is not None:
        attach(module, model.reading)
    module.eval()
    choose_attention(module, inputs)
    return ReferenceModule(without_caches(module), buffers)


def _differing(
    module: nn.Module, other: nn.Module, computed: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return which of the computed tensors are others in another module."""
    modules, found = dict(other.named_modules()), set()
    for path, name in computed:
        one = getattr(module.get_submodule(path), name)
        another = getattr(modules.get(path), name, None)
        if not (isinstance(another, Tensor) and torch.equal(one.to(another), another)):
            found.add((path, name))
    return found


def _built(model: LoadedModel, seed: int) -> tuple[nn.Module, set[tuple[str, str]]]:
    source = model.source
    is_random = model.checkpoint is None or model.keys is None
    dtype = getattr(model.config, "dtype", None) if is_random else None
    stored = () if is_random or model.keys is None else model.keys.stored
    # The running model's configuration may have been changed with it.
    config = build_config(model.architecture.config, source.name)
    used = getattr(getattr(model.running_module, "config", None), "_attn_implementation", None)
    if used is not None:
        config._attn_implementation = used
    module = build_on_meta(config, source.task, source.name, source.untied)
    return module, compute_buffers(module, stored, dtype or torch.float32, seed)


def _fill(module: nn.Module, other: nn.Module, computed: Collection[str]) -> None:
    """Give a module another's tensors, or only their dtypes to those that were computed."""
    own = dict(module.named_parameters(recurse=False)) | dict(module.named_buffers(recurse=False))
    # Some are neither parameters nor buffers.
    own |= {name: value for name, value in vars(module).items() if isinstance(value, Tensor)}
    for name, tensor in own.items():
        found, is_parameter = getattr(other, name, None), isinstance(tensor, nn.Parameter)
        if not isinstance(found, Tensor) or (name not in computed and found.shape != tensor.shape):
            continue
        if name in computed:
            value = tensor.detach().to(found.dtype)
        elif isinstance(found, AbsentWeight):
            module._parameters[name] = found.at(torch.device("cpu"))
            continue
        else:
            # A model may write to a buffer, and the running one must not notice.
            value = found.detach().cpu() if is_parameter else found.detach().cpu().clone()
        setattr(module, name, nn.Parameter(value, requires_grad=False) if is_parameter else value)
