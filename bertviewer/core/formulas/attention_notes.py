"""What a learner asks about attention, answered with the numbers of the module at hand."""

from bertviewer.core.formulas.attention_maths import Distances, Heads


def attention_notes(heads: Heads) -> tuple[str, ...]:
    """Return the notes on an attention module, the most asked first."""
    notes = [_scale_note(heads), _where_note(heads)]
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
            "further away arrives by way of the layers below."
        )
    if heads.cross:
        notes.append(
            "Queries come from the decoder, keys and values from the encoder's output: this is "
            "where the decoder reads the source."
        )
    if heads.normed:
        notes.append(
            "This module holds the whole sub-layer: attention, projection, residual and layer norm."
        )
    notes.append(
        "While training, dropout sets some probabilities in P to 0; in evaluation it does nothing."
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


def _where_note(heads: Heads) -> str:
    split = (
        f"[{heads.count}, {heads.size}] is how the {heads.query.outputs} features are split: the "
        "number of heads changes no parameter count."
    )
    return heads.where if heads.shared > 1 else f"{heads.where} {split}"


def _distance_notes(distances: Distances) -> list[str]:
    buckets = distances.table[0]
    side = buckets // 2 if distances.both_ways else buckets
    exact = side // 2
    ways = (
        f"{side} buckets look back and {side} ahead"
        if distances.both_ways
        else f"all {buckets} buckets look back"
    )
    held = distances.holder or "This module holds the table"
    return [
        "There are no position vectors: order comes in by a bias on the scores, one number for "
        f"each head and each bucket of distances. Here {ways}; of each side, the first {exact} "
        f"stand for one distance each, the rest for ever wider ranges up to {distances.furthest}, "
        "and everything further shares the last.",
        f"{held}; all layers of the stack add the same bias.",
    ]
