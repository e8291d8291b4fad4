"""What a learner asks about attention, answered with the numbers of the module at hand."""

from bertviewer.core.formulas.attention_maths import Distances, Heads
from bertviewer.core.formulas.distance_buckets import buckets_in_use
from bertviewer.core.formulas.facts import (
    drops_probabilities,
    has_angle_table,
    has_contact_head,
    has_head_size,
    has_head_tables,
    has_positions,
)
from bertviewer.core.formulas.notes import Note, no


def attention_notes(heads: Heads) -> tuple[str, ...]:
    """Return the notes on an attention module, the most asked first."""
    notes = [_scale_note(heads), *_where_notes(heads)]
    if heads.output is None:
        notes.append(
            "Concat places the heads side by side. The linear layer that mixes them is “dense” in "
            "the sibling module “output”."
        )
    if heads.shared > 1:
        notes.append(
            f"Grouped queries: {heads.shared} consecutive query heads share one key/value head, "
            f"so W_K and W_V have {heads.key.outputs} rows instead of {heads.query.outputs}, and "
            f"a key/value cache is {heads.shared} times smaller."
        )
    if heads.head_norm:
        notes.append(
            "Each head’s queries and keys are first normalised (q_norm, k_norm; all heads share "
            f"the {heads.size} scales of each), which keeps the scores bounded."
        )
    if heads.rotated:
        notes.append(
            "The rotation encodes the order of the tokens: after it, the product of a query and a "
            "key depends on the distance between them, not on their absolute positions. "
            + ("Values are also rotated. " if heads.rotated_values else "Values are not rotated. ")
            + f"The model’s “{heads.angles}” computes the angles."
        )
    if heads.distances is not None:
        notes += _distance_notes(heads.distances)
    if heads.causal:
        notes.append(
            "Attention is causal: position s attends only to positions 0 to s, so that the model "
            "can be trained to predict the next token."
        )
    if heads.window:
        notes.append(
            f"Sliding window: only positions less than {heads.window} away are visible. "
            "Information from farther away arrives over several layers, if at all."
        )
    if heads.cross:
        notes.append(
            "Queries come from the decoder, keys and values from the encoder’s output: this is "
            "where the decoder reads the source."
        )
    if heads.norm:
        notes.append(
            "This module contains the whole sub-layer: attention, output projection, residual "
            f"connection and {heads.norm.name}."
        )
    notes.append(
        Note(
            "During training, dropout zeroes some entries of P; in evaluation mode it has no "
            "effect.",
            drops_probabilities,
        )
    )
    return tuple(notes)


def _scale_note(heads: Heads) -> str:
    if heads.unscaled:
        return heads.unscaled
    if heads.scale == 1.0:
        return "This configuration does not divide the scores by √d_k."
    if heads.scale is not None:
        return "This configuration scales the scores by a factor other than 1/√d_k."
    return (
        "Why divide by √d_k? If the entries of a query and a key are independent with mean 0 and "
        f"variance 1, their dot product has variance d_k = {heads.size}. Scores that large would "
        "push the softmax towards 0 and 1, where its gradient vanishes; the division restores a "
        "variance of 1."
    )


def _where_notes(heads: Heads) -> list[str]:
    if heads.shared > 1:
        return [heads.where]
    features = heads.query.outputs
    split = f"{heads.where} The {features} features are split as [{heads.count}, {heads.size}]"
    free = f"{split}: the number of heads does not change the parameter count"
    biases = ", except for the distance biases" if heads.distances is not None else ""
    return [
        Note(
            f"{free}{biases}.",
            lambda view: not has_head_size(view) and not has_head_tables(view),
        ),
        Note(f"{free}, except for the table of angles.", has_angle_table),
        Note(f"{free}, except for the contact head.", has_contact_head),
        Note(
            f"{split}. The configuration sets the head size separately, so more heads mean more "
            "features and larger weights.",
            has_head_size,
        ),
    ]


def _distance_notes(distances: Distances) -> list[str]:
    held = distances.holder or "This module holds the table"
    bias = "a bias on the scores, one number per head and distance bucket."
    steps = _steps(distances)
    return [
        Note(
            f"There are no position vectors: token order enters as {bias}{steps}", no(has_positions)
        ),
        Note(
            f"Token order enters as position vectors, in the embeddings, and as {bias}{steps}",
            has_positions,
        ),
        f"{held}; all layers of the stack add the same bias.",
    ]


def _steps(distances: Distances) -> str:
    """Say how distances are put into buckets, "" where they are not in steps."""
    buckets, furthest = distances.in_use, distances.furthest
    side = buckets // 2 if distances.both_ways else buckets
    try:
        back, single = buckets_in_use(0, side, furthest)
        ahead, single_ahead = buckets_in_use(1, side, furthest)
    except ValueError:
        return ""
    ways = (
        f"all {back} buckets are for earlier positions, from distance 0; the first {single} cover"
    )
    if distances.both_ways:
        ways = (
            f"{back} buckets are for earlier positions, from distance 0, and {ahead} for later "
            f"ones, from distance 1; the first {single} and {single_ahead} of them, respectively, "
            "cover"
        )
    elif back < buckets:
        ways = ways.replace("all ", "", 1)
    return (
        f" Here {ways} one distance each. The others cover the distances up to {furthest} in "
        "logarithmic steps, and all greater distances share the last."
    )
