"""The scores of a whole vocabulary at one place, to look any token up."""

from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class VocabularyScores:
    """What a head gives from each hidden state of one token, or from the last one only.

    Attributes:
        logits: [states, V]; the last row is the model's own.
        log_totals: the logarithm of the sum of each row's exponentials: [states].
    """

    logits: NDArray[np.floating[Any]]
    log_totals: NDArray[np.float64]

    def logit(self, token: int, state: int = -1) -> float:
        """Return the score of the token of that id, by default the model's own."""
        return float(self.logits[state, token])

    def probability(self, token: int, state: int = -1) -> float | None:
        """Return its softmax over the vocabulary, ``None`` where scores are not finite."""
        total = float(self.log_totals[state])
        return exp(self.logit(token, state) - total) if np.isfinite(total) else None

    def rank(self, token: int, state: int = -1) -> int | None:
        """Return its place among all, from 1; those with the same score share the best one."""
        if not np.isfinite(self.log_totals[state]):
            return None
        return 1 + int(np.count_nonzero(self.logits[state] > self.logits[state, token]))
