"""Models from configurations, built by transformers: on the meta device or with random weights."""

import inspect
import itertools
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from torch.nn.modules.module import register_module_module_registration_hook

from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.building.backend import seeded, torch, transformers
from bertviewer.core.building.configurations import failure_reason
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.sources.model_source import BASE, TASKS, Task
from bertviewer.core.util import budget
from bertviewer.core.util.errors import Stopped, UserError

MAX_MODULES = 200_000


def auto_class(config: Any, task: Task, name: str) -> Any:
    """Return transformers' Auto class that builds a configuration's model for a task.

    Raises:
        UserError: the family has no such head; ``name`` is the model's in the message.
    """
    found = _model_classes(config, task)
    if not found:
        raise UserError(
            f"{name}: {config.model_type} has no head for the task {task.name!r}"
            f"{_available_heads(config)}"
        )
    return found[0][0]


def task_classes(config: Any) -> Iterator[tuple[Task, Any]]:
    """Yield the tasks that a family has a model for, and the models' classes."""
    for task in TASKS:
        if found := _model_classes(config, task):
            yield task, found[0][1]


def task_names(config: Any) -> tuple[str, ...]:
    """Return the names of the tasks that a family has a model for."""
    return tuple(task.name for task, _ in task_classes(config))


def encoder_tasks(config: Any) -> tuple[str, ...]:
    """Return the names of the tasks for which a family has a model without a decoder."""
    return tuple(
        task.name
        for task, kind in task_classes(config)
        if "decoder_input_ids" not in inspect.signature(kind.forward).parameters
    )


def build_on_meta(
    config: Any, task: Task, name: str, untied: Collection[str] = ()
) -> torch.nn.Module:
    """Build a module without storage on the meta device: 30 ms for BERT-base.

    Args:
        config: transformers' configuration.
        task: the head.
        name: the model's name in messages.
        untied: parameters to untie, see ``untie``.

    Raises:
        UserError: transformers cannot build this configuration, or it has too many modules.
        Stopped: a limit of ``util.budget`` was reached.
    """
    auto = auto_class(config, task, name)
    try:
        with AllocationGuard(), torch.device("meta"), _limited_modules(name):
            module: torch.nn.Module = auto.from_config(config, trust_remote_code=False)
    except (UserError, Stopped):
        raise
    except Exception as error:
        reason = failure_reason(error, vars(config))
        raise UserError(
            f"{name}: transformers cannot build this configuration: {reason}"
        ) from error
    _move_to_meta(module)
    untie(module, untied)
    return module


def _move_to_meta(module: torch.nn.Module) -> None:
    """Move parameters of legacy constructors, such as ``torch.FloatTensor(sizes)`` in XLNet.

    These ignore ``torch.device("meta")``. Operations on them would compute and allocate.
    """
    moved: dict[int, torch.nn.Parameter] = {}
    for inner in module.modules():
        for name, parameter in inner.named_parameters(recurse=False, remove_duplicate=False):
            if not parameter.is_meta:
                new = torch.nn.Parameter(parameter.detach().to("meta"), parameter.requires_grad)
                setattr(inner, name, moved.setdefault(id(parameter), new))


def build_random(
    config: Any, task: Task, name: str, seed: int = SEED, untied: Collection[str] = ()
) -> torch.nn.Module:
    """Build a module on the CPU in eval mode, with the family's own initialization from a seed.

    Raises:
        UserError: transformers cannot initialize it.
    """
    auto = auto_class(config, task, name)
    with seeded(seed):
        try:
            module: torch.nn.Module = auto.from_config(config, trust_remote_code=False)
        except Exception as error:
            reason = failure_reason(error, vars(config))
            raise UserError(f"{name}: no random weights can be drawn: {reason}") from error
    untie(module, untied)
    return module.eval()


def untie(module: torch.nn.Module, names: Collection[str]) -> None:
    """Untie parameters, as transformers does where a checkpoint stores different values for them.

    Names that the module does not have are ignored: a variant may have fewer layers.
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


def _model_classes(config: Any, task: Task) -> list[tuple[Any, Any]]:
    """Return the Auto classes of a task that know a family, and the class that each builds.

    A class that the configuration's ``architectures`` names comes first.
    """
    named = getattr(config, "architectures", None)
    named = named if isinstance(named, list) else []
    found = []
    for name in filter(None, (task.auto_class, task.variant)):
        auto = getattr(transformers, name)
        # Private: no public function tells whether an Auto class knows a configuration.
        mapping = auto._model_mapping
        if type(config) not in mapping:
            continue
        try:
            kinds = mapping[type(config)]
        except ValueError:
            continue  # transformers lists a class that it does not have
        # A few families have several classes, of which the configuration chooses one.
        classes = kinds if isinstance(kinds, tuple) else (kinds,)
        found.append((auto, next((k for k in classes if k.__name__ in named), classes[0])))
    return sorted(found, key=lambda pair: pair[1].__name__ not in named)


def _available_heads(config: Any) -> str:
    """Return the end of a message that lists what a family has instead of a head."""
    tasks = [task for task, _ in task_classes(config)]
    if heads := [task.name for task in tasks if task is not BASE]:
        return f"; it has heads for: {', '.join(heads)}"
    if tasks:
        return "; it has no task heads"
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


@contextmanager
def _limited_modules(name: str) -> Iterator[None]:
    """Count the modules that this thread builds, and check the limits in force at each of them.

    Raises:
        UserError: there are more than ``MAX_MODULES``.
    """
    count = itertools.count(1)
    thread = threading.get_ident()  # the hook is called in all of them

    def check(_module: torch.nn.Module, _name: str, _child: torch.nn.Module | None) -> None:
        if threading.get_ident() != thread:
            return
        budget.check()
        if next(count) > MAX_MODULES:
            raise UserError(f"{name}: it has more than {MAX_MODULES:,} modules, too many to show")

    hook = register_module_module_registration_hook(check)
    try:
        yield
    finally:
        hook.remove()
