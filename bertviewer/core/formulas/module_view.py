"""The module that a formula is about: its tensors, children, attributes and configuration."""

from collections.abc import Mapping
from typing import Any

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.families.families import CLASSES
from bertviewer.core.families.family import Description, Descriptions, kind_of
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.families.names import CONFIG_KEYS, is_cross_attention
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.frozen import frozen
from bertviewer.core.text.special_floats import Scalar


@frozen
class ModuleView:
    """One node with what its formula needs to know, looked up once."""

    node: ModuleNode
    architecture: Architecture
    children: Mapping[str, ModuleNode]
    tensors: Mapping[str, TensorInfo]
    classes: Descriptions

    @classmethod
    def of(
        cls, node: ModuleNode, architecture: Architecture, classes: Descriptions = CLASSES
    ) -> "ModuleView":
        """Collect what lies below ``node``; tensors are keyed by their name from ``node`` on.

        ``classes`` says what a class is.
        """
        skip = len(node.path) + 1 if node.path else 0
        children = {child.name: child for child in architecture.children(node.path)}
        below = architecture.tensors_below(node.path)
        tensors = {tensor.name[skip:]: tensor for tensor in below}
        return cls(node, architecture, children, tensors, classes)

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's configuration."""
        return self.architecture.config

    @property
    def width(self) -> int | str:
        """The model's width by its configuration, the letter D where it does not say."""
        key = next(iter(self.keys("width")), None)
        return "D" if key is None else int(self.config[key])

    @property
    def is_cross(self) -> bool:
        """Whether the node is, or belongs to, a layer's attention to an encoder."""
        kinds = (self.kind, self.kind_below("self"))
        return is_cross_attention(self.node.path) or ModuleKind.BERT_CROSS_ATTENTION in kinds

    @property
    def description(self) -> Description | None:
        """What the node's class is, ``None`` where no family has it."""
        return self.classes.get(self.node.class_name)

    @property
    def kind(self) -> ModuleKind | None:
        """The kind of the node's class."""
        return kind_of(self.description)

    def below(self, path: str) -> "ModuleView":
        """Return what is at ``path`` from the node on as a view of its own.

        Raises:
            KeyError: there is nothing.
        """
        name, _, rest = path.partition(".")
        child = ModuleView.of(self.children[name], self.architecture, self.classes)
        return child.below(rest) if rest else child

    def has(self, path: str) -> bool:
        """Return whether there is a module at ``path`` from the node on."""
        name, _, rest = path.partition(".")
        return name in self.children and (not rest or self.below(name).has(rest))

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a tensor in or below the node, ``None`` if there is none."""
        tensor = self.tensors.get(name)
        return None if tensor is None else tensor.shape

    def attribute(self, *names: str) -> Scalar:
        """Return the first of these attributes that the module has."""
        return next((self.node.attributes[n] for n in names if n in self.node.attributes), None)

    def integer(self, *names: str) -> int | None:
        """Return the first of these attributes, if it is a whole number."""
        value = self.attribute(*names)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def affine(self, name: str = "") -> Affine:
        """Return the linear layer ``name`` below the node, or the node's own.

        Raises:
            KeyError: there is no weight of that name.
        """
        prefix = f"{name}." if name else ""
        inner = self.kind_below(name) if name else self.kind
        return Affine(
            self.tensors[f"{prefix}weight"].shape,
            f"{prefix}bias" in self.tensors,
            transposed=inner is not ModuleKind.CONV1D,
        )

    def kind_below(self, name: str) -> ModuleKind | None:
        """Return the kind of the child ``name``, ``None`` if there is no such child or kind."""
        child = self.children.get(name)
        return None if child is None else kind_of(self.classes.get(child.class_name))

    def keys(self, *choices: str) -> tuple[str, ...]:
        """Return this configuration's keys for the choices, those that it has."""
        return tuple(key for choice in choices for key in CONFIG_KEYS[choice] if key in self.config)
