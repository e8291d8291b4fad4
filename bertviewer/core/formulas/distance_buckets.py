"""T5's buckets of distances, as its attention finds them (Raffel et al. 2020, 2.1; code)."""

from math import log

MPNET_BUCKETS = 32
"""MPNet's code knows no other number; its configuration's is only that of the table's rows."""


MOST_DISTANCES = 2**16


def bucket_of(distance: int, buckets: int, furthest: int) -> int:
    """Return the bucket of a distance to one side, of so many buckets for that side.

    Half of them stand for one distance each, the rest go up to ``furthest`` in logarithmic steps.
    """
    exact = buckets // 2
    if distance < exact:
        return distance
    step = log(distance / exact) / log(furthest / exact) * (buckets - exact)
    return min(exact + int(step), buckets - 1)


def buckets_in_use(first: int, buckets: int, furthest: int) -> tuple[int, int]:
    """Return how many buckets distances from ``first`` on meet, and how many of these half are.

    Raises:
        ValueError: the numbers leave no such steps, or too many distances to try.
    """
    exact = buckets // 2
    if exact < 1 or not exact < furthest <= MOST_DISTANCES:
        raise ValueError("buckets without steps")
    met = {bucket_of(distance, buckets, furthest) for distance in range(first, furthest + 1)}
    return len(met), len([bucket for bucket in met if bucket < exact])
