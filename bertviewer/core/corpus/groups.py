"""Which batches are run side by side, so that a layer's weights are read once for all of them.

The rule: what the batches of a group keep from one layer to the next, and the sums of all shards in
it but one, take no more than the weights of the largest part that is read at once. With the weights
that are read that is the largest layer twice; beside it there are the activations of one batch in
one layer, as in any run, and the sums of one shard. A batch that keeps more is a group by itself.
"""

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from bertviewer.core.corpus.batches import Batch
from bertviewer.core.corpus.measured import Measured
from bertviewer.core.corpus.recorder import ShardSums

MOST = 64
"""So many batches at most: each has a thread."""
_FLOAT = 4


class Item(Struct, frozen=True, eq=False):
    """A batch of a shard, or the end of the shard.

    Attributes:
        shard: its number.
        sums: of the shard.
        batch: ``None`` at the end.
        kept: the bytes that the batch keeps between two layers.
    """

    shard: int
    sums: ShardSums
    batch: Batch | None
    kept: int


def grouped(items: Iterable[Item], room: int) -> Iterator[list[Item]]:
    """Yield the items in groups that keep ``room`` bytes at most; each alone if that is 0."""
    group: list[Item] = []
    for item in items:
        shards = len({one.shard for one in (*group, item)})
        kept = sum(one.kept for one in (*group, item)) + (shards - 1) * item.sums.nbytes
        if group and kept > room:
            yield group
            group = []
        group.append(item)
        if not room or len(group) == MOST:
            yield group
            group = []
    if group:
        yield group


def kept_bytes(batch: Batch, measured: Measured, layers: Collection[str]) -> int:
    """Return about how many bytes a batch keeps between two layers.

    That is a hidden state and what it came from, for an encoder and a decoder; a mask; and where
    the model has to give all of its hidden states, these.
    """
    sentences, tokens = map(int, batch.mask.shape)
    widths = [call.layout.width for call in measured.calls if call.path in layers]
    width = max((measured.width, *widths))
    states = 2 if batch.target is None else 4
    if None in measured.state_calls:
        states += measured.states
    return sentences * tokens * _FLOAT * (states * width + tokens)
