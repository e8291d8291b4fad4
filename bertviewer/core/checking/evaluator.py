"""What a module gives by its formula, from the weights that the model has at this moment."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.checking.arithmetic import Arithmetic
from bertviewer.core.families.family import Description, Descriptions, kind_of
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.frozen import frozen
from bertviewer.core.text.special_floats import Scalar

Given = Tensor | None
"""A tensor that a module may be called without."""

Recomputation = Callable[..., Any]
"""Takes an ``Evaluator`` and what the module's ``forward`` takes; gives what that gives."""


class NoRecomputationError(Exception):
    """A module has no recomputation, or is built otherwise than its class says; tells why."""


@frozen
class Setting:
    """What all evaluators of one recomputation share.

    ``tables`` are parameters that are computed from the configuration, by their names: they are
    used instead of the model's.
    """

    module: nn.Module
    architecture: Architecture
    nodes: Mapping[str, ModuleNode]
    arithmetic: Arithmetic
    find: Callable[["Evaluator"], Recomputation]
    classes: Descriptions
    tables: Mapping[str, Tensor] = field(default_factory=dict)

    def evaluator(self, path: str) -> "Evaluator":
        """Return the evaluator of the module at ``path``."""
        return Evaluator(self, path)


@frozen
class Evaluator:
    """Gives what one module gives, by its recomputation.

    Its class, its plain values and its children are those of the architecture, which was built
    from the configuration alone: a module that was exchanged since then is found out. Its weights
    are those that the model has at this moment.
    """

    setting: Setting
    path: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Recompute what the module gives for these arguments.

        Raises:
            NoRecomputationError: there is no recomputation for its class.
        """
        recompute = self.setting.find(self)
        return self.setting.arithmetic.round(recompute(self, *args, **kwargs))

    @property
    def node(self) -> ModuleNode:
        """The module as the architecture has it.

        Raises:
            NoRecomputationError: it has no such module.
        """
        try:
            return self.setting.nodes[self.path]
        except KeyError:
            raise NoRecomputationError(f"no module {self.path!r}") from None

    @property
    def description(self) -> Description | None:
        """What the module's class is, ``None`` where no family has it."""
        return self.setting.classes.get(self.node.class_name)

    @property
    def kind(self) -> ModuleKind | None:
        """The kind of the module's class."""
        return kind_of(self.description)

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's configuration."""
        return self.setting.architecture.config

    @property
    def is_causal(self) -> bool:
        """Whether the attention in or below the module hides later tokens, by the model's trace.

        Raises:
            NoRecomputationError: no attention was traced there.
        """
        found = is_causal(self.setting.architecture, self.path)
        if found is None:
            raise NoRecomputationError("it is unknown whether its attention is causal")
        return found

    @property
    def children(self) -> tuple["Evaluator", ...]:
        """Those of the modules directly below, in order."""
        below = self.setting.architecture.children(self.path)
        return tuple(Evaluator(self.setting, node.path) for node in below)

    def has(self, name: str) -> bool:
        """Whether there is a module of that name below."""
        return self._join(name) in self.setting.nodes

    def below(self, name: str) -> "Evaluator":
        """Return that of the module of that name below; the name may be a path.

        That there is none is found out when it is used: its ``node`` raises.
        """
        return Evaluator(self.setting, self._join(name))

    def first(self, *names: str) -> "Evaluator":
        """Return the first of these modules that there is.

        Raises:
            NoRecomputationError: there is none of them.
        """
        for name in names:
            if self.has(name):
                return self.below(name)
        raise NoRecomputationError(f"{self.node.class_name} has none of {', '.join(names)}")

    def attribute(self, name: str) -> Scalar:
        """Return a plain value of the module, ``None`` if it has none of that name."""
        return self.node.attributes.get(name)

    def number(self, name: str) -> float:
        """Return a plain value of the module that must be a number.

        Raises:
            NoRecomputationError: it is none.
        """
        value = self.attribute(name)
        if not isinstance(value, int | float):
            raise NoRecomputationError(f"{self.node.class_name} has no number {name}")
        return value

    def setting_value(self, *keys: str) -> Any:
        """Return the configuration's value of the first of these keys that it has.

        Raises:
            NoRecomputationError: it has none of them.
        """
        for key in keys:
            if self.config.get(key) is not None:
                return self.config[key]
        raise NoRecomputationError(f"the configuration has none of {', '.join(keys)}")

    def tensor(self, name: str) -> Tensor | None:
        """Return the module's own tensor of that name as it is now, ``None`` if there is none."""
        value = self._held(name)
        return self.setting.arithmetic.take(value) if isinstance(value, Tensor) else None

    def weight(self, name: str = "weight") -> Tensor:
        """Return a tensor that must be there.

        Raises:
            NoRecomputationError: it is not.
        """
        value = self.tensor(name)
        if value is None:
            raise NoRecomputationError(f"{self.node.class_name} has no tensor {name}")
        return value

    def dtype(self, name: str = "weight") -> torch.dtype:
        """Return the dtype in which the module has a tensor.

        Raises:
            NoRecomputationError: there is no such tensor.
        """
        value = self._held(name)
        if not isinstance(value, Tensor):
            raise NoRecomputationError(f"{self.node.class_name} has no tensor {name}")
        return value.dtype

    def rows(self, places: Tensor, name: str = "weight") -> Tensor:
        """Return rows of a table: only they are brought into the dtype of the calculation.

        Raises:
            NoRecomputationError: there is no such table.
        """
        table = self._held(name)
        if not isinstance(table, Tensor):
            raise NoRecomputationError(f"{self.node.class_name} has no tensor {name}")
        taken: Tensor = self.setting.arithmetic.take(table.detach()[places.to(table.device)])
        return taken

    def round(self, value: Tensor) -> Tensor:
        """Round a value in the middle of a calculation where the model stores it too."""
        return self.setting.arithmetic.round(value)

    def _held(self, name: str) -> Any:
        """Return what the module has under a name; its weights as they are now."""
        module: nn.Module = self.setting.module.get_submodule(self.path)
        return self.setting.tables.get(self._join(name), getattr(module, name, None))

    def _join(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
