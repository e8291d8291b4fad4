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
            "Concat sets the heads side by side. The linear layer that mixes them is the dense "
            "layer of the sibling module 'output'."
        )
    if heads.shared > 1:
        notes.append(
            f"Grouped queries: {heads.shared} query heads in a row share one head of keys and "
            f"values, so W_K and W_V have {heads.key.outputs} rows instead of "
            f"{heads.query.outputs}, and a cache of keys and values is {heads.shared} times "
            "smaller."
        )
    if heads.head_norm:
        notes.append(
            "Each head's queries and keys are normalised first (q_norm, k_norm; all heads share "
            f"the {heads.size} scales of each), which keeps the scores in bounds."
        )
    if heads.rotated:
        notes.append(
            "The rotation brings in the order of the tokens: after it, the product of a query and "
            "a key depends on their distance and not on where they stand. "
            + ("Values are rotated too. " if heads.rotated_values else "Values are not rotated. ")
            + f"The model's '{heads.angles}' gives the angles."
        )
    if heads.distances is not None:
        notes += _distance_notes(heads.distances)
    if heads.causal:
        notes.append(
            "Attention is causal: position s sees positions 0 to s only, so that the model can be "
            "trained to predict the next token."
        )
    if heads.window:
        notes.append(
            f"A sliding window: only positions less than {heads.window} away are seen. What is "
            "further away arrives over several layers, if at all."
        )
    if heads.cross:
        notes.append(
            "Queries come from the decoder, keys and values from the encoder's output: this is "
            "where the decoder reads the source."
        )
    if heads.norm:
        notes.append(
            "This module holds the whole sub-layer: attention, projection, residual and "
            f"{heads.norm.name}."
        )
    notes.append(
        Note(
            "While training, dropout sets some probabilities in P to 0; in evaluation it does "
            "nothing.",
            drops_probabilities,
        )
    )
    return tuple(notes)


def _scale_note(heads: Heads) -> str:
    if heads.unscaled:
        return heads.unscaled
    if heads.scale == 1.0:
        return "This configuration does not divide the scores by the root of d_k."
    if heads.scale is not None:
        return "This configuration scales the scores by a factor other than 1 / sqrt(d_k)."
    return (
        "Why divide by the root of d_k: if the entries of a query and a key are independent with "
        f"mean 0 and variance 1, their dot product has variance d_k = {heads.size}. Scores that "
        "large would push the softmax to 0 and 1, where its gradient vanishes; the division brings "
        "their variance back to 1."
    )


def _where_notes(heads: Heads) -> list[str]:
    if heads.shared > 1:
        return [heads.where]
    features = heads.query.outputs
    split = f"{heads.where} [{heads.count}, {heads.size}] is how the {features} features are split"
    free = f"{split}: the number of heads changes no parameter count"
    biases = " but that of the biases by distance" if heads.distances is not None else ""
    return [
        Note(
            f"{free}{biases}.",
            lambda view: not has_head_size(view) and not has_head_tables(view),
        ),
        Note(f"{free} but that of the table of angles.", has_angle_table),
        Note(f"{free} but that of the contact head.", has_contact_head),
        Note(
            f"{split}. The size of a head is a number of its own in the configuration, so more "
            "heads make more features, and larger weights.",
            has_head_size,
        ),
    ]


def _distance_notes(distances: Distances) -> list[str]:
    held = distances.holder or "This module holds the table"
    bias = "a bias on the scores, one number for each head and each bucket of distances."
    steps = _steps(distances)
    return [
        Note(f"There are no position vectors: order comes in by {bias}{steps}", no(has_positions)),
        Note(
            f"Order comes in by position vectors, with the embeddings, and by {bias}{steps}",
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
    ways = f"all {back} buckets look back, from distance 0 on; the first {single} stand"
    if distances.both_ways:
        ways = (
            f"{back} buckets look back, from distance 0 on, and {ahead} ahead, from distance 1 on; "
            f"the first {single} of the ones and {single_ahead} of the others stand"
        )
    elif back < buckets:
        ways = ways.replace("all ", "", 1)
    return (
        f" Here {ways} for one distance each. The rest share out the distances up to {furthest} in "
        "logarithmic steps, and everything further shares the last."
    )
