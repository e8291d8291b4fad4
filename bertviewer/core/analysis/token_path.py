"""One token's path through the hidden states: how long its vector is, and how far it turns."""

import numpy as np
from msgspec import Struct

from bertviewer.core.analysis.similarity import cosines
from bertviewer.core.schema.activation_run import ActivationRun


class TokenPath(Struct, frozen=True):
    """Figures of one token, one for each hidden state; ``None`` where one is undefined.

    Attributes:
        norms: Euclidean norms of its vector.
        to_start: cosines to its own vector in state 0, the embeddings.
        to_before: cosines to its vector in the state before; the first is always ``None``.
    """

    norms: tuple[float | None, ...]
    to_start: tuple[float | None, ...]
    to_before: tuple[float | None, ...]


def token_path(run: ActivationRun, token: int) -> TokenPath:
    """Return the path of the token at this place; without cosines where the run kept no states.

    Raises:
        IndexError: there is no such token.
    """
    norms = tuple(state[token] for state in run.token_norms)
    if not run.hidden_states:
        nothing = (None,) * len(norms)
        return TokenPath(norms, nothing, nothing)
    vectors = np.stack([state[token] for state in run.hidden_states])
    return TokenPath(
        norms,
        cosines(np.broadcast_to(vectors[0], vectors.shape), vectors),
        (None, *cosines(vectors[:-1], vectors[1:])),
    )
