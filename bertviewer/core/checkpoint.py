"""Which of a model's tensors a checkpoint holds, by its safetensors header alone."""

from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import nn

from bertviewer.core.errors import UserError
from bertviewer.core.source import ModelSource


def missing_tensors(source: ModelSource, module: nn.Module) -> tuple[str, ...]:
    """Return the parameters of ``module`` that the source's checkpoint does not hold.

    A checkpoint may name the base model's tensors with its prefix (``bert.``) or without, and
    may use TensorFlow's names for LayerNorm's, as old BERT files do; transformers accepts both.

    Raises:
        UserError: the file is not readable, or holds none of the model's tensors.
    """
    if not source.has_weights:
        return ()
    file = source.path / "model.safetensors"
    keys = {_modern(key) for key in _keys(file)}
    prefix = f"{getattr(module, 'base_model_prefix', '')}."
    names = [name for name, _ in module.named_parameters()]
    missing = tuple(
        name for name in names if not {name, prefix + name, name.removeprefix(prefix)} & keys
    )
    if len(missing) == len(names):
        raise UserError(f"{file}: none of its tensors belongs to this architecture")
    return missing


def _keys(file: Path) -> list[str]:
    try:
        with safe_open(file, framework="pt") as opened:
            return list(opened.keys())
    except (SafetensorError, OSError) as error:
        raise UserError(f"{file}: not a readable safetensors file: {error}") from error


def _modern(key: str) -> str:
    return key.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"
    )
