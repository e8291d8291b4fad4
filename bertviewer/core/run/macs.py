"""Multiply-adds of a run: by the model's derived formulas, or counted while it runs.

1 MAC = 2 FLOPs. Only matrix products count, as in ``torch.utils.flop_counter``: for attention
these are Q·Kᵀ and the weights times V, 2·B·S_q·S_k·D (Vaswani et al. 2017, section 3.2.1).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import FrameType
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from bertviewer.core.architecture import Architecture
from bertviewer.core.costs.memory_use import macs
from bertviewer.core.counting.dimensions import owners
from bertviewer.core.flow.products import is_product, product_dimensions
from bertviewer.core.letter_values import values_for
from bertviewer.core.run.activation_run import Token


@dataclass(frozen=True, slots=True)
class Macs:
    """The multiply-adds of all calls of a module; ``None`` and why where they are not known."""

    count: int | None
    reason: str = ""


NOT_COUNTED = Macs(None, "nothing was counted")


def formula_macs(architecture: Architecture, tokens: Sequence[Token]) -> Mapping[str, Macs] | None:
    """Return what the derived formulas give for one sentence, by module path.

    ``None`` where they are not there (yet), or not for each module, or say nothing of so many
    tokens.
    """
    compute = architecture.compute
    if compute is None or compute.reason:
        return None
    values = values_for(architecture, tokens)
    found = {path: macs(compute, path, values) for path in compute.modules}
    known = {path: Macs(count) for path, count in found.items() if count is not None}
    return known if len(known) == len(found) else None


def of_called(macs: Mapping[str, Macs], paths: Collection[str]) -> Mapping[str, Macs]:
    """Return what formulas say of the modules that a run called, all that they knew to be called.

    Another one does what no formula speaks of; neither it nor what holds it has a number then.
    """
    found = {path: macs[path] for path in paths if path in macs}
    for path in paths:
        if path not in macs:
            strange = Macs(None, f"its formula was found where nothing called {path}")
            found |= dict.fromkeys((path, *owners(path)), strange)
    return found


class ProductCounter(TorchDispatchMode):
    """Counts the products that modules do while they run, fused attention's too.

    A run tells when a module begins and ends. To see each operation costs 2 % of bert-base's
    forward pass, so a run does it only where no formula is known. What is counted is what was
    done: a mixture of experts' own way, or the attention that BigBird puts in another's place.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._at_work: list[str] = []
        self._own: Counter[str] = Counter()
        self._unknown: dict[str, str] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled in a run; to keep torch's compiler out it would be imported."""
        return False

    def enter(self, path: str) -> int:
        """Note that the module at ``path`` was called; ``leave`` takes what comes back."""
        self._at_work.append(path)
        return len(self._at_work) - 1

    def leave(self, depth: int) -> None:
        """Note that a module is done, and those in it that ended in an error with it."""
        del self._at_work[depth:]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation and count it, if it is a product."""
        del types
        output = func(*args, **(kwargs or {}))
        if is_product(func) and self._at_work:
            try:
                dimensions = product_dimensions(func, args, output)
            except NotImplementedError as error:
                self._unknown.setdefault(self._at_work[-1], str(error))
            else:
                self._own[self._at_work[-1]] += prod(dimensions or (0,))
        return output

    def totals(self, paths: Iterable[str]) -> Mapping[str, Macs]:
        """Return the multiply-adds of these modules and of all below each."""
        counts: Counter[str] = Counter()
        for path, count in self._own.items():
            for above in (path, *owners(path)):
                counts[above] += count
        reasons: dict[str, str] = {}
        for path, reason in self._unknown.items():
            for above in (path, *owners(path)):
                reasons.setdefault(above, reason if above == path else f"{path}: {reason}")
        return {
            path: Macs(None, reasons[path]) if path in reasons else Macs(counts[path])
            for path in paths
        }


def is_counting(frame: FrameType) -> bool:
    """Tell whether a frame is just the counter, for anybody who looks at the stack."""
    return frame.f_code is ProductCounter.__torch_dispatch__.__code__
