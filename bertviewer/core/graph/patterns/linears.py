"""Linear layers: a product with a learned matrix, whatever it is called."""

from bertviewer.core.graph.operation_names import LINEAR
from bertviewer.core.graph.trace import Shape
from bertviewer.core.graph.trace_graph import Graph, Reading

_JOINED = ("cat", "stack", "_weight_norm")


def weight_of(graph: Graph, number: int) -> Shape | None:
    """Return the shape of the matrix that an operation multiplies data by, ``None`` for others.

    A convolution that looks at one position at a time is a linear layer as well.
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
    if graph.words[number].startswith("conv") and any(size != 1 for size in weights[0][2:]):
        return None
    return weights[0]


def is_weight(graph: Graph, reading: Reading) -> bool:
    """Return whether a tensor is a parameter, or several put together."""
    if graph.parameter(reading.value):
        return True
    return reading.word in _JOINED and all(
        graph.parameter(each.value) for each in graph.readings[reading.maker]
    )


def operand_of(graph: Graph, number: int) -> Reading | None:
    """Return the one operand of a product that is no parameter, ``None`` if there are others."""
    others = [each for each in graph.readings[number] if not is_weight(graph, each)]
    return others[0] if len(others) == 1 else None


def is_linear(graph: Graph, number: int) -> bool:
    """Return whether an operation multiplies its operand by one learned matrix."""
    return weight_of(graph, number) is not None


def widths_of(graph: Graph, number: int) -> tuple[int, int]:
    """Return the numbers of input and output features of a linear layer."""
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
