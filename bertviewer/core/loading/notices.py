"""Notices that qualify a model's figures, and reasons why a model cannot be run.

Notices on configuration keys that the model does not use come from ``building.unused_keys``.
"""

import re
from collections.abc import Collection

from msgspec.structs import replace

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.checkpoints.quantization import Quantization, packed_weights, quantization_of
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.configuration import RemovedSettings
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import shortened

_MAX_NAME = 80
_MAX_CLASSES = 10
_ADAPTERS = re.compile(r"\.(lora_|ia3_|oft_|vera_|hada_|lokr_)|(^|\.)adapters?\.")
_FLOATS = ("F64", "F32", "F16", "BF16")


def file_notices(settings: RemovedSettings, quantization: Quantization | None) -> tuple[str, ...]:
    """Return the notices on what was removed from a configuration before it was used.

    Args:
        settings: what was removed.
        quantization: of the weights, ``None`` if they are plain numbers.
    """
    found = []
    if settings.classes:
        names = ", ".join(shortened(name, _MAX_NAME) for name in settings.classes[:_MAX_CLASSES])
        found.append(
            f"The configuration's auto_map names the checkpoint's own code ({names}), which "
            "bertviewer never runs. The transformers class is used instead, so the results match "
            "the trained model only if both compute the same."
        )
    if quantization is not None:
        found.append(_quantized_notice(quantization))
    elif settings.quantization:
        title = getattr(quantization_of(None, settings.quantization), "title", "")
        found.append(
            f"The configuration says that the weights are quantized ({title}), but the file "
            "holds plain numbers, which are used as stored."
        )
    return tuple(found)


def with_notices(
    architecture: Architecture,
    quantization: Quantization | None = None,
    key_notices: tuple[str, ...] = (),
    report: LoadReport | None = None,
    checkpoint: Checkpoint | None = None,
) -> Architecture:
    """Return an architecture whose source has all notices and the quantized tensors.

    Args:
        architecture: of the model.
        quantization: of its weights.
        key_notices: on keys of its configuration that it does not use.
        report: how the checkpoint fits it; ``None`` without one.
        checkpoint: where the weights are stored.
    """
    found = [*architecture.source.notices, *key_notices]
    if key_notices and (unused := _unused_tensors(architecture, report, checkpoint)):
        one = "One tensor in the file, {1}, belongs to a layer and is not used by {2}."
        many = "{0} tensors in the file belong to layers and are not used by {2}, such as {1}."
        name = shortened(unused[0], _MAX_NAME)
        found.append(count_text(len(unused), one, many, name, architecture.root.class_name))
    adapters = () if report is None else tuple(filter(_ADAPTERS.search, report.unexpected))
    if adapters:
        one = "1 tensor of an adapter in the file, {1}, is not applied to the model."
        many = "{0} tensors of an adapter in the file, such as {1}, are not applied to the model."
        found.append(count_text(len(adapters), one, many, shortened(adapters[0], _MAX_NAME)))
    source = replace(
        architecture.source,
        notices=tuple(dict.fromkeys(found)),
        quantization=quantization,
        quantized_tensors=_quantized_names(report, checkpoint),
    )
    return replace(architecture, source=source)


def why_quantized(name: str, quantization: Quantization) -> str:
    """Return why a model with quantized weights cannot be run."""
    return (
        f"{name} cannot be run: its weights are quantized ({quantization.title}), and bertviewer "
        "does not decode them; open the model's unquantized weights to run it"
    )


def why_not_run(name: str) -> str:
    """Return why a model whose structure is known from tensor names alone cannot be run."""
    return (
        f"{name} cannot be run: it has no config.json with a model_type that transformers knows, "
        "and the names and shapes of its tensors do not identify the model"
    )


def _quantized_notice(quantization: Quantization) -> str:
    title = quantization.title
    if not quantization.tensors:
        return (
            f"The configuration describes quantized weights ({title}), which are missing: "
            "everything is computed with plain numbers instead."
        )
    count = count_text(
        quantization.tensors, "1 tensor is stored as codes", "{0} tensors are stored as codes"
    )
    return (
        f"The weights are quantized ({title}): {count}, which are not decoded. Their values are "
        "neither shown nor compared, and the model cannot be run."
    )


def _quantized_names(report: LoadReport | None, checkpoint: Checkpoint | None) -> tuple[str, ...]:
    """Return the model's names of quantized tensors; without a report those in the file."""
    packed = {} if checkpoint is None else packed_weights(checkpoint.tensors)
    if report is None:
        return tuple(packed)
    unexpected = set(report.unexpected)
    names = (report.renamed.get(key, key) for key in packed if key not in unexpected)
    return tuple(dict.fromkeys(names))


def _unused_tensors(
    architecture: Architecture, report: LoadReport | None, checkpoint: Checkpoint | None
) -> tuple[str, ...]:
    """Return the keys of trained tensors that belong to a layer and are not used."""
    if report is None or checkpoint is None:
        return ()
    layers = {
        node.path for node in architecture.modules if any(map(str.isdecimal, node.path.split(".")))
    }
    return tuple(
        key
        for key in report.unexpected
        if checkpoint.tensors[key].dtype in _FLOATS and _is_in_layer(key, layers)
    )


def _is_in_layer(key: str, layers: Collection[str]) -> bool:
    """Return whether a key contains a layer's path, after a prefix of up to two parts."""
    parts = key.split(".")[:-1]
    return any(
        ".".join(parts[start:end]) in layers
        for end in range(len(parts), 0, -1)
        for start in range(min(end, 3))
    )
