"""What an operation is carried out on, in words: the order, the numbers and the parts of tensors.

Edges say what goes into a node. A formula also needs which operand is which, and the numbers
that the code has between them: ``1 - x`` and ``x - 1`` have the same edge.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bertviewer.core.architecture.operand import PARTS, TRANSPOSED, Operand
from bertviewer.core.flow.boxes import Box
from bertviewer.core.flow.graph import Graph, moves
from bertviewer.core.flow.trace import Argument, Listed, Ref, Slice, Word
from bertviewer.core.flow.wiring import End, Wiring
from bertviewer.core.frozen import frozen

_SILENT = ("dtype", "inplace", "training", "dropout_p", "out", "device", "_stacklevel")
_TURNS = ("T", "mT", "t", "transpose", "permute", "swapaxes", "swapdims")


@frozen
class DrawnBoxes:
    """The boxes of a drawing by their ids, and the one around it, in whose box ``holder`` it is."""

    graph: Graph
    wiring: Wiring
    ids: Mapping[int | End, str]
    around: "DrawnBoxes | None" = None
    holder: Box | None = None

    def operands(self, box: Box, number: int) -> tuple[Operand, ...]:
        """Return the operands of the one operation of a box, in order."""
        operation = self.graph.trace.operations[number]
        found = [each for arg in operation.args for each in self._described(arg, box, number)]
        for name, arg in operation.kwargs:
            if name not in _SILENT and arg is not None:
                found += [replace(each, key=name) for each in self._described(arg, box, number)]
        return tuple(found)

    def _described(self, arg: Argument, box: Box, number: int) -> Iterator[Operand]:
        if isinstance(arg, Ref):
            found = self._tensor(arg.value, box)
            yield found or Operand(role=self.wiring.role(box, number, arg.value) or "")
        elif isinstance(arg, Listed | tuple):
            items = arg.items if isinstance(arg, Listed) else arg
            if any(isinstance(item, Ref) for item in items):
                for item in items:
                    yield from self._described(item, box, number)
            else:
                yield Operand(plain=f"[{', '.join(map(_plain, items))}]")
        else:
            yield Operand(plain=_plain(arg))

    def _tensor(self, value: int, box: Box) -> Operand | None:
        """Return what gives a tensor, here or in the drawing around; else ``None``."""
        if name := self.graph.parameter(value):
            end = self.wiring.end_of_parameter(name)
            known = None if end is None else self.ids.get(end)
            turns = sum(word in _TURNS for _, word in moves(self.graph, value))
            parts = (TRANSPOSED,) if turns % 2 else ()
            return Operand(known) if known else Operand(parameter=name, parts=parts)
        source, movement = self.wiring.source(value, box)
        while source is box and (step := self.graph.back(value)) is not None:
            value = step[0]  # it was moved in the box itself
            source, before = self.wiring.source(value, box)
            movement = (*before, step[1], *movement)
        key = id(source) if isinstance(source, Box) else source
        if key is not None and key in self.ids and source is not box:
            return Operand(self.ids[key], tuple(it for it in movement if it.startswith(PARTS)))
        if self.around is None or self.holder is None:
            return None
        return self.around._tensor(value, self.holder)


def _plain(arg: Argument) -> str:
    if isinstance(arg, Slice):
        bounds = (arg.start, arg.stop, arg.step)
        start, stop, step = ("" if part is None else _plain(part) for part in bounds)
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if isinstance(arg, Word):
        return "..." if arg.kind == "ellipsis" else arg.text
    if isinstance(arg, Listed | tuple):
        items = arg.items if isinstance(arg, Listed) else arg
        return f"[{', '.join(map(_plain, items))}]"
    if isinstance(arg, Ref):
        return "?"
    return f"{arg:.6g}" if isinstance(arg, float) else str(arg)
