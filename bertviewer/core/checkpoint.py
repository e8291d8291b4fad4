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
        UserError: the file is not readable, holds none of the model's tensors, or holds one of
            another shape.
    """
    if not source.has_weights:
        return ()
    file = source.path / "model.safetensors"
    stored = {_modern(key): shape for key, shape in _shapes(file).items()}
    prefix = f"{getattr(module, 'base_model_prefix', '')}."
    missing, found = [], 0
    for name, parameter in module.named_parameters():
        names = (name, prefix + name, name.removeprefix(prefix))
        key = next((key for key in names if key in stored), None)
        if key is None:
            missing.append(name)
            continue
        found += 1
        if stored[key] != tuple(parameter.shape):
            raise UserError(
                f"{file}: {key} has the shape {list(stored[key])}, but the configuration asks "
                f"for {list(parameter.shape)}"
            )
    if not found:
        raise UserError(f"{file}: none of its tensors belongs to this architecture")
    return tuple(missing)


def _shapes(file: Path) -> dict[str, tuple[int, ...]]:
    try:
        with safe_open(file, framework="pt") as opened:
            return {key: tuple(opened.get_slice(key).get_shape()) for key in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise UserError(f"{file}: not a readable safetensors file: {error}") from error


def _modern(key: str) -> str:
    return key.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"
    )
