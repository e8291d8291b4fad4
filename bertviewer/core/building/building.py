"""Configuration to module: transformers builds it, on meta or with seeded random weights."""

import copy
import inspect
import itertools
import json
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch.nn.modules.module import register_module_module_registration_hook

from bertviewer.core.building import transformer_base
from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.config_names import hidden_name, misnamed_key
from bertviewer.core.building.seeded import seeded
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.sources.tasks import BASE, TASKS, Task
from bertviewer.core.util import budget
from bertviewer.core.util.errors import (
    NEEDS_OTHER_FILES,
    Stopped,
    UnknownTypeError,
    UserError,
    describe_error,
    known_cause,
)

MOST_SAID = 300
"""Characters of an error's words."""
MOST_MODULES = 200_000
MOST_IN_TABLES = 1 << 25
"""Numbers in parameters that are computed again; where they have more, they are frozen weights."""
_VERSION = "transformers_version"
_DEFAULT_DTYPE = threading.RLock()

transformer_base.register()


def build_config(data: Mapping[str, Any], name: str) -> Any:
    """Return transformers' configuration object for a checked configuration.

    Raises:
        UnknownTypeError: the model type is unknown; ``name`` is in the message.
        UserError: a value is refused, likewise.
    """
    values = copy.deepcopy(dict(data))  # the class may change tables in it
    model_type = values.pop("model_type")
    values.pop(_VERSION, None)
    if model_type not in transformers.CONFIG_MAPPING:
        raise UnknownTypeError(f"{name}: model_type {model_type!r} is unknown to transformers")
    kind = transformers.CONFIG_MAPPING[model_type]
    try:
        config = kind(**values)
    except Stopped:
        raise
    except Exception as error:
        reason = misnamed_key(values, kind) or _reason(error, values)
        raise UserError(f"{name}: bad configuration: {reason}") from error
    if reason := hidden_name(config):
        raise UserError(f"{name}: bad configuration: {reason}")
    return config


def plain_config(config: Any, name: str, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a configuration as what JSON knows, numbers that are not finite included.

    ``data`` is what it was made of: the version of transformers that wrote it is the file's, and
    not the one that is running.

    Raises:
        UserError: it holds what transformers itself cannot write down.
    """
    try:
        plain: dict[str, Any] = json.loads(json.dumps(config.to_dict(), default=str))
    except Exception as error:
        raise UserError(f"{name}: bad configuration: {_reason(error, vars(config))}") from error
    plain.pop("_name_or_path", None)
    plain.pop(_VERSION, None)
    if isinstance(version := (data or {}).get(_VERSION), str):
        plain[_VERSION] = version
    return plain


def auto_class(config: Any, task: Task, name: str) -> Any:
    """Return transformers' Auto class of the task, once it is known to take this configuration.

    Raises:
        UserError: this family has no such head.
    """
    found = _models(config, task)
    if not found:
        raise UserError(
            f"{name}: {config.model_type} has no head for the task {task.name!r}{_instead(config)}"
        )
    return found[0][0]


def _models(config: Any, task: Task) -> list[tuple[Any, Any]]:
    """Return the Auto classes of a task that know a family, and the class that each builds.

    One that the configuration's ``architectures`` names is the first.
    """
    named = getattr(config, "architectures", None)
    named = named if isinstance(named, list) else []
    found = []
    for name in filter(None, (task.auto_class, task.variant)):
        auto = getattr(transformers, name)
        # Public API has no question for this; asking the mapping keeps errors ours and plain.
        mapping = auto._model_mapping
        if type(config) not in mapping:
            continue
        try:
            kinds = mapping[type(config)]
        except ValueError:
            continue  # transformers lists a class that it does not have
        # A few families have several classes, of which the configuration chooses one.
        several = kinds if isinstance(kinds, tuple) else (kinds,)
        found.append((auto, next((k for k in several if k.__name__ in named), several[0])))
    return sorted(found, key=lambda pair: pair[1].__name__ not in named)


def _instead(config: Any) -> str:
    """Return which heads a family has."""
    heads = [task.name for task, _ in classes_of(config) if task is not BASE]
    if heads or any(classes_of(config)):
        return f"; it has heads for: {', '.join(heads)}" if heads else "; it has no task heads"
    inner = {
        name: part.model_type
        for name, part in vars(config).items()
        if isinstance(part, transformers.PreTrainedConfig)
    }
    if not inner:
        return "; no model class that can be opened belongs to it"
    first = next(iter(inner))
    return (
        f"; it combines several models ("
        f"{', '.join(f'{name}: {kind}' for name, kind in inner.items())}); save one of them, for "
        f"example with model.{first}.save_pretrained(folder), and open that"
    )


def heads_of(config: Any) -> tuple[str, ...]:
    """Return the names of the tasks that this family has a model for."""
    return tuple(task.name for task, _ in classes_of(config))


def encoder_tasks(config: Any) -> tuple[str, ...]:
    """Return the names of the tasks for which this family has a model without a decoder."""
    return tuple(
        task.name
        for task, kind in classes_of(config)
        if "decoder_input_ids" not in inspect.signature(kind.forward).parameters
    )


def classes_of(config: Any) -> Iterator[tuple[Task, Any]]:
    """Yield the tasks that this family has a model for, and the models' classes."""
    for task in TASKS:
        if found := _models(config, task):
            yield task, found[0][1]


def build_on_meta(
    config: Any, task: Task, name: str, untied: Collection[str] = ()
) -> torch.nn.Module:
    """Build the module with shapes and no storage: 30 ms for BERT-base.

    Args:
        config: transformers' configuration.
        task: the head.
        name: what messages call the model.
        untied: the parameters that are not tied, although the class ties them.

    Raises:
        UserError: transformers cannot build this configuration.
        Stopped: by the limits in force.
    """
    auto = auto_class(config, task, name)
    try:
        with AllocationGuard(), torch.device("meta"), _few_modules(name):
            module: torch.nn.Module = auto.from_config(config, trust_remote_code=False)
    except (UserError, Stopped):
        raise
    except Exception as error:
        raise UserError(
            f"{name}: transformers cannot build this configuration: {_reason(error, vars(config))}"
        ) from error
    untie(module, untied)
    return module


def untie(module: torch.nn.Module, names: Collection[str]) -> None:
    """Untie parameters, as transformers does where a checkpoint stores different values for them.

    A name that the module lacks, as a variant with fewer layers may, is passed over.
    """
    ties: dict[str, str] = getattr(module, "all_tied_weights_keys", {})
    for name in names:
        path, _, last = name.rpartition(".")
        try:
            owner, tied = module.get_submodule(path), module.get_parameter(name)
        except AttributeError:
            continue
        setattr(owner, last, torch.nn.Parameter(tied.detach().clone(), tied.requires_grad))
        ties.pop(name, None)


def compute_buffers(
    module: Any, stored: Collection[str], dtype: torch.dtype, seed: int = SEED
) -> set[tuple[str, str]]:
    """Give a module on the meta device its buffers and its fixed tables, on the CPU.

    They are computed from the configuration, as ``from_pretrained`` does once it has loaded the
    weights: buffers that are not persistent or that the checkpoint lacks, and parameters that are
    not trained and that it lacks, such as sinusoidal positions.

    Args:
        module: its other parameters stay on the meta device.
        stored: the names of the tensors that the checkpoint has.
        dtype: torch's default dtype while they are computed. ``from_config`` computes them in the
            configuration's dtype, ``from_pretrained`` in float32.
        seed: of what is drawn at random.

    Returns:
        What was computed: each the path of its module and its name.
    """
    computed, unsure = set(), {}
    for path, part in module.named_modules():
        for own, buffer in part._buffers.items():
            is_persistent = own not in part._non_persistent_buffers_set
            if buffer is None or (is_persistent and _joined(path, own) in stored):
                continue
            part._buffers[own] = torch.empty_like(buffer, device="cpu")
            if not is_persistent:
                computed.add((path, own))
            elif (unset := _unset(buffer.dtype)) is not None:
                unsure[path, own] = part._buffers[own].fill_(unset)
    tables = _fixed_tables(module, stored)
    for parameter in module.parameters():
        parameter._is_hf_initialized = True  # skipped by initialize_weights
    for (path, own), table in tables.items():
        empty = torch.full_like(table, float("nan"), device="cpu")
        unsure[path, own] = torch.nn.Parameter(empty, requires_grad=False)
        module.get_submodule(path)._parameters[own] = unsure[path, own]
    with seeded(seed), default_dtype(dtype):
        module.initialize_weights()
    # A class may leave persistent buffers to the checkpoint. Parameters start with a constant.
    for key, tensor in unsure.items():
        is_constant = key in tables and bool((tensor == tensor.flatten()[0]).all())
        if not (is_constant or _is_unset(tensor)):
            computed.add(key)
    return computed


def _fixed_tables(
    module: torch.nn.Module, stored: Collection[str]
) -> dict[tuple[str, str], torch.Tensor]:
    """Return the parameters that are neither trained nor in the checkpoint."""
    found = {
        (path, own): parameter
        for path, part in module.named_modules()
        for own, parameter in part.named_parameters(recurse=False)
        if not parameter.requires_grad
        and parameter.is_floating_point()
        and parameter.numel()
        and _joined(path, own) not in stored
    }
    is_few = sum(parameter.numel() for parameter in found.values()) <= MOST_IN_TABLES
    return found if is_few else {}


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _unset(dtype: torch.dtype) -> float | None:
    """Return a number that no buffer has, ``None`` if there is no such number of this dtype."""
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    return None if dtype is torch.bool else torch.iinfo(dtype).min


def _is_unset(buffer: torch.Tensor) -> bool:
    if buffer.is_floating_point() or buffer.is_complex():
        return bool(buffer.isnan().any())
    return bool(buffer.eq(_unset(buffer.dtype) or 0).any())


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Have torch make floating-point tensors in this dtype unless another one is asked for.

    The setting is that of the whole process: it is left alone if it is the same, and one thread
    at a time changes it.
    """
    with _DEFAULT_DTYPE:
        before = torch.get_default_dtype()
        if before == dtype:
            yield
            return
        torch.set_default_dtype(dtype)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def build_random(
    config: Any, task: Task, name: str, seed: int = SEED, untied: Collection[str] = ()
) -> torch.nn.Module:
    """Build the module on the CPU with the family's own initialisation, from a seed.

    The process' random state is left as it was.

    Raises:
        UserError: transformers cannot draw its weights.
    """
    auto = auto_class(config, task, name)
    with seeded(seed):
        try:
            module: torch.nn.Module = auto.from_config(config, trust_remote_code=False)
        except Exception as error:
            raise UserError(
                f"{name}: no random weights can be drawn: {_reason(error, vars(config))}"
            ) from error
    untie(module, untied)
    return module.eval()


@contextmanager
def _few_modules(name: str) -> Iterator[None]:
    """Stop while a model is built of more modules than any, or at a limit in force.

    Raises:
        UserError: it has too many.
    """
    count = itertools.count(1)
    thread = threading.get_ident()  # the hook is called in all of them

    def note(_module: torch.nn.Module, _name: str, _child: torch.nn.Module | None) -> None:
        if threading.get_ident() != thread:
            return
        budget.check()
        if next(count) > MOST_MODULES:
            raise UserError(f"{name}: it has more than {MOST_MODULES:,} modules, too many to show")

    noting = register_module_module_registration_hook(note)
    try:
        yield
    finally:
        noting.remove()


def _reason(error: Exception, values: Mapping[str, Any]) -> str:
    if isinstance(error, KeyError):
        # A name looked up in a table, as of activations: say which key of the configuration.
        for key, value in _strings(values):
            if value == error.args[0]:
                return f"{key} {value!r} is unknown"
    if known_cause(error) == NEEDS_OTHER_FILES:
        for key, value in _strings(values):
            if value and value in str(error):
                return f"{key} {value!r}: {NEEDS_OTHER_FILES}"
    return describe_error(error)


def _strings(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, Mapping):
            yield from _strings(value)
