"""Linear layers: a product with a learnt matrix, whatever it is called."""

from bertviewer.core.flow.graph import Graph, Reading
from bertviewer.core.flow.operation_names import LINEAR
from bertviewer.core.flow.trace import Shape

_JOINED = ("cat", "stack", "_weight_norm")


def weight_of(graph: Graph, number: int) -> Shape | None:
    """Return the shape of the matrix that an operation multiplies data by, ``None`` for others.

    A convolution that looks at one place at a time is a linear layer as well.
    """
    if graph.words[number] not in LINEAR:
        return None
    weights = [
        graph.shape(each.value)
        for each in graph.readings[number]
        if is_weight(graph, each) and len(graph.shape(each.value)) >= 2
    ]
    if len(weights) != 1 or operand_of(graph, number) is None:
        return None
    if graph.words[number].startswith("conv"):
        return weights[0] if all(size == 1 for size in weights[0][2:]) else None
    return weights[0]


def is_weight(graph: Graph, reading: Reading) -> bool:
    """Tell whether a tensor is a parameter, or several put together."""
    if graph.parameter(reading.value):
        return True
    is_joined = reading.maker is not None and graph.words[reading.maker] in _JOINED
    return is_joined and all(
        graph.parameter(each.value) for each in graph.readings[reading.maker or 0]
    )


def operand_of(graph: Graph, number: int) -> Reading | None:
    """Return the one tensor that a product has beside its parameters, ``None`` for two or more."""
    others = [each for each in graph.readings[number] if not is_weight(graph, each)]
    return others[0] if len(others) == 1 else None


def is_linear(graph: Graph, number: int) -> bool:
    """Tell whether an operation multiplies what it takes by one learnt matrix."""
    return weight_of(graph, number) is not None


def widths_of(graph: Graph, number: int) -> tuple[int, int]:
    """Return how many features a linear layer takes and gives."""
    equation = graph.trace.operations[number].args[0]
    if graph.words[number] == "einsum" and isinstance(equation, str):
        return _widths_by_letters(graph, number, equation)
    operand = operand_of(graph, number)
    assert operand is not None  # it is a linear layer
    axis = 1 if graph.words[number].startswith("conv") else -1
    return graph.shape(operand.value)[axis], graph.shape(graph.made(number))[axis]


def _widths_by_letters(graph: Graph, number: int, equation: str) -> tuple[int, int]:
    """Return the widths of a product that sums over some letters of its matrix: ibh,hnd->ibnd."""
    terms, result = equation.replace(" ", "").split("->")
    taken, given = 1, 1
    for letters, reading in zip(terms.split(","), graph.readings[number], strict=True):
        if is_weight(graph, reading):
            for letter, size in zip(letters, graph.shape(reading.value), strict=True):
                taken, given = (taken, given * size) if letter in result else (taken * size, given)
    return taken, given
