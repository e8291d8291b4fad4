"""The steps that plans are made of."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["ids", "segments", "table", "aside", "hidden", "repeat", "visit", "target"]
"""What passes through a step.

``ids`` and ``segments`` are the model's inputs, a ``table`` is looked up by them, ``hidden`` states
keep their shape; a table ``aside`` is read by the layers, as a whole; ``repeat`` is a table used a
second time; ``visit`` goes into the module; from ``target`` on it is the decoder's turn.
"""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        name: what the step is called.
        path: the module to point at, from the planned module on; empty for an addition.
        modules: whose tensors the step counts, where that is not all of ``path``.
        kind: what passes through it.
        where: the step is left out where this module is missing; ``path`` if nothing is said.
        note: what a learner asks at this step.
    """

    name: str
    path: str = ""
    modules: tuple[str, ...] = ()
    kind: Kind = "hidden"
    where: str = ""
    note: str = ""

    @property
    def needs(self) -> str:
        """The module without which the step does not exist, from the planned module on."""
        return self.where or self.path


Plan = tuple[PlanStep, ...]

INPUT_TOKEN = PlanStep("Input-Token", kind="ids", note="the ids of the tokens")
INPUT_SEGMENT = PlanStep(
    "Input-Segment",
    kind="segments",
    where="token_type_embeddings",
    note="which sentence each token belongs to: 0 or 1",
)
NORM_NOTE = "A scale and a bias for each feature."
SCALE_NOTE = "A scale for each feature."
"""What is said of a norm instead, where it has no bias."""
ONE_SEGMENT_NOTE = "0 for each token: the model knows one kind of segment only"
"""What is said of the segments instead, where the table has one row."""
SUM_NOTE = "The vectors are added feature by feature; nothing is learnt here."
POSITION_NOTE = "One vector for each place in the sequence."
RESIDUAL = "What went into the block is added to what came out: the residual connection."
PER_HEAD = "Q, K and V projections and the output projection; the heads share them out."


def token_table(path: str) -> PlanStep:
    """The table of token vectors."""
    return PlanStep("Embedding-Token", path, kind="table", note="One vector for each token.")


def norm(path: str) -> PlanStep:
    """A layer norm."""
    return PlanStep("Norm", path, note=NORM_NOTE)


def add(where: str = "", note: str = RESIDUAL) -> PlanStep:
    """An addition, of a residual unless the note says otherwise."""
    return PlanStep("Add", where=where, note=note)


def dropout(path: str) -> PlanStep:
    """Dropout, which training alone knows."""
    return PlanStep("Dropout", path, note="Works in training only; nothing is learnt here.")


def feed_forward(path: str, *modules: str) -> PlanStep:
    """A feed-forward network; ``modules`` hold its tensors where they are not all of ``path``."""
    return PlanStep("FeedForward", path, modules, note="Widens each position, and narrows it.")
