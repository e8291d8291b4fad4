"""A clean instance of a model: the same classes and configuration, and the same tensors."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from bertviewer.core.building.building import build_on_meta
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.weight_loading import without_caches
from bertviewer.core.run.big_bird_attention import choose_attention


def clean_model(model: LoadedModel, inputs: Mapping[str, Any]) -> nn.Module:
    """Build a model anew, and give it the running one's tensors, on the CPU.

    What was done to the running model's modules is not in it. Its parameters are the very same
    tensors where they are on the CPU, so that no second copy of the weights is made. A tensor of
    another shape, or one that the running model lacks, stays without numbers.

    Args:
        model: the running one.
        inputs: what it will be called with.
    """
    running = model.running_module
    clean = build_on_meta(model.config, model.source.task, model.source.name)
    others = dict(running.named_modules())
    for path, module in clean.named_modules():
        if path in others:
            _fill(module, others[path])
    used = getattr(getattr(running, "config", None), "_attn_implementation", None)
    built: Any = clean
    if used != getattr(getattr(clean, "config", None), "_attn_implementation", None):
        built.set_attn_implementation(used)
    clean.eval()
    choose_attention(clean, inputs)
    return without_caches(clean)


def _fill(module: nn.Module, other: nn.Module) -> None:
    for name, tensor in list(_empty(module)):
        found = getattr(other, name, None)
        if not isinstance(found, Tensor) or found.shape != tensor.shape:
            continue
        found = found.detach().cpu()
        if isinstance(tensor, nn.Parameter):
            setattr(module, name, nn.Parameter(found, requires_grad=False))
        else:
            # A model may write to it, and the running one must not notice.
            setattr(module, name, found.clone())


def _empty(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield a module's own tensors without numbers; some are neither parameters nor buffers."""
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)
    for name, value in vars(module).items():
        if isinstance(value, Tensor):
            yield name, value
