"""What of a model can stay in its files while it runs layer by layer, and what that saves."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct
from torch import nn

from bertviewer.core.analysis.layers import layer_paths, unit_of, unit_paths
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.schema.architecture import Architecture


class Plan(Struct, frozen=True):
    """What of a model stays in its files.

    Attributes:
        units: the paths of the modules that are called with their weights: the layers, and what
            holds a table of words.
        names: the keys of the weights that are read for them, by the first name of each.
        largest: the bytes of the unit that holds the most of these.
        rest: the bytes of all else that the model learns.
    """

    units: tuple[str, ...]
    names: Mapping[str, str]
    largest: int
    rest: int


def plan(like: nn.Module, architecture: Architecture, keys: LoadReport) -> Plan:
    """Return what of a model can stay in its files.

    That is the matrices of the layers and the tables of words, as they are stored. Vectors are a
    thousandth of all, and what else stands beside the layers is small; some of it is used by others
    than its own module. What transformers cuts, joins or turns as it loads it is not in the files
    as such.

    Args:
        like: the same module on the meta device.
        architecture: its layers.
        keys: where its weights are stored.
    """
    slots: dict[int, list[str]] = {}
    parameters: dict[int, nn.Parameter] = {}
    for name, parameter in like.named_parameters(remove_duplicate=False):
        slots.setdefault(id(parameter), []).append(name)
        parameters[id(parameter)] = parameter
    every = unit_paths(architecture)
    with_tables = [_unit(name, every) for table in _tables(like) for name in slots[table]]
    found = dict.fromkeys((*layer_paths(architecture), *filter(None, with_tables)))
    units = tuple(found)
    names: dict[str, str] = {}
    sizes: Counter[str] = Counter()
    rest = 0
    for number, parameter in parameters.items():
        stored = [key for name in slots[number] if (key := keys.stored.get(name)) is not None]
        within = {_unit(name, units) for name in slots[number]}
        if len(stored) != 1 or None in within or parameter.dim() < 2:
            rest += parameter.nbytes
            continue
        names[slots[number][0]] = stored[0]
        sizes.update({unit: parameter.nbytes for unit in within if unit is not None})
    return Plan(units, names, max(sizes.values(), default=0), rest)


def _unit(name: str, units: tuple[str, ...]) -> str | None:
    return unit_of(name.rpartition(".")[0], units)


def _tables(like: Any) -> Collection[int]:
    """Return the parameters that have a row for each word."""
    found = set()
    for ask in ("get_input_embeddings", "get_output_embeddings"):
        try:
            table = getattr(like, ask)()
        except (AttributeError, NotImplementedError):
            continue
        weight = getattr(table, "weight", None)
        if isinstance(weight, nn.Parameter):
            found.add(id(weight))
    return found
