"""A family: which classes its modules have, and what each of them is."""

from collections.abc import Mapping
from dataclasses import field

from bertviewer.core.families.layer import Layer, Network
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.frozen import frozen

Description = ModuleKind | Layer | Network
"""What a class is: its kind; a layer or a network that is like others is told by its parts."""

Descriptions = Mapping[str, Description]


@frozen
class Family:
    """Models whose modules are the same but for the name in front.

    A module is found by the bare name of its class alone: ``families.CLASSES`` has the classes of
    all families in one table, so that a name is of one family. Which model it stands in is not
    asked for.

    Attributes:
        prefixes: what the names of its classes begin with, one for each model.
        endings: what follows a prefix in a class's name, with what the class is.
        classes: whole names of classes that have no prefix, or that not all the models have.
    """

    prefixes: tuple[str, ...] = ()
    endings: Descriptions = field(default_factory=dict)
    classes: Descriptions = field(default_factory=dict)

    def descriptions(self) -> dict[str, Description]:
        """Return what each class of the family is; a whole name goes before a prefix's."""
        named = {p + ending: what for p in self.prefixes for ending, what in self.endings.items()}
        return named | dict(self.classes)


def kind_of(what: Description | None) -> ModuleKind | None:
    """Return the kind of a class; of one that is told by its parts, that of all such."""
    if isinstance(what, Layer):
        return ModuleKind.LAYER
    return ModuleKind.FEED_FORWARD if isinstance(what, Network) else what
