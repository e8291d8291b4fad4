"""A scale and a shift for each feature, without a norm: MobileBERT's NoNorm (Sun et al. 2020)."""

from collections.abc import Iterator

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.flow.graph import Graph
from bertviewer.core.flow.groups.group import Group

AFFINE: KnownOperation = "scale and shift"


def find_affine(graph: Graph) -> Iterator[Group]:
    """Yield every product with a learnt vector that a learnt vector is added to."""
    for number, word in enumerate(graph.words):
        users = graph.users.get(number, ())
        if word != "mul" or len(users) != 1 or graph.words[users[0]] != "add":
            continue
        if _has_vector(graph, number) and _has_vector(graph, users[0]):
            yield Group(AFFINE, frozenset((number, users[0])))


def _has_vector(graph: Graph, number: int) -> bool:
    names = [graph.parameter(each.value) for each in graph.readings[number]]
    return len(names) == 2 and sum(map(bool, names)) == 1
