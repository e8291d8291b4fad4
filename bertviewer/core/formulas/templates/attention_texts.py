"""Terms and notes on attention, with placeholders that ``attention_values`` fills."""

from bertviewer.core.formulas.formula import GROUP, ROTATION, TOKENS, Term

_SMALLER = (
    "so W_K and W_V have {key.layer.outputs} {unit} instead of {query.layer.outputs}, and a "
    "key/value cache is {shared} times smaller."
)
_BRACKET = (
    "A bracket is 1 where its condition is true and 0 elsewhere; the logarithm of 0 masks a "
    "position."
)
MASKED = (
    "{is_masked?} −∞ stands for the number that the code adds to masked scores: −inf or a large "
    "negative number such as the smallest one of the dtype. Softmax gives these positions "
    "probability 0."
)
CAUSAL = (
    "{is_causal?} Attention is causal: position s attends only to positions 0 to s, so that the "
    "model can be trained to predict the next token."
)
DROPOUT = (
    "During training, dropout sets each entry of P to 0 with probability {dropout}; in evaluation "
    "mode it has no effect."
)
LANDMARKS = (
    "{is_full?} This configuration has as many landmarks as positions in a sequence ({landmarks}), "
    "so the attention is computed in full, without the Nyström approximation.",
    "{not is_full?} Nyström approximation: queries and keys are averaged over segments to "
    "{landmarks} landmarks each. The three softmax products with them replace the one of all "
    "pairs, so the cost grows linearly with the number of tokens. The matrix between landmarks is "
    "inverted approximately, in a few iterations (Xiong et al. 2021, section 3).",
)
_BLOCKS = (
    "A sequence of {most} positions or fewer has too few blocks: every position then attends to "
    "all others, with the same parameters.",
    f"{{most?}} {_BRACKET}",
    "During training, each block also attends to {drawn} drawn at random. At inference, "
    "transformers draws none and attends to block 0 instead, whose positions count {times}.",
)
_WINDOWS = (
    "The window has {positions} positions, so the cost grows linearly with the number of tokens, "
    "not with its square. The model pads the sequence to a multiple of {multiple}.",
    "Over several layers, information travels farther: each layer extends the reach by {side} "
    "positions on each side.",
    "A global position attends to all positions, and all attend to it. Its own row is computed "
    "with separate layers ({global_layers}). Without global positions, only the windows remain.",
    f"{{positions?}} {_BRACKET}",
)
_DEBERTA = (
    "A score is the sum of {terms} terms: {kinds}{unplaced}",
    "Why divide by √({terms} × {size})? The dot product of two vectors of {size} entries with "
    "variance 1 has variance {size}, and {terms} such products are added.",
    "R has {rows} rows, for distances in both directions: row {middle} is for distance 0{far}",
    "The distances are projected with the same {weights} as the tokens, not with separate weights.",
)
_LATENT = (
    "Latent attention: only C and the rotated part of the key need to be cached, {cached} numbers "
    "per position; the keys and values of all heads would be {whole}.",
    "A query and a key have two parts: {content} features that compare content, and "
    "{rotated_size} features that are rotated by the position. All heads share the rotated part "
    "of the key, as a rotation cannot be applied to C.",
    "{latent_layer}.weight stacks the heads, {head_rows} rows each: the first {content} make the "
    "head’s keys, the others its values. {query_layer}.weight has {size} rows for each head, of "
    "which the last {rotated_size} make the part that is rotated.",
)
NOTES: tuple[str, ...] = (
    "The model does not call this module. The formula is that of “{twin}”, which has the same "
    "class.",
    *(*_BLOCKS, *_WINDOWS, *_DEBERTA),
    "{is_usual?} Why divide by √d_k? If the entries of a query and a key are independent with mean "
    "0 and variance 1, their dot product has variance d_k = {size}. Scores that large would push "
    "the softmax towards 0 and 1, where its gradient vanishes; the division restores a variance of "
    "1.",
    "The scores are not divided by the square root of d_k = {t5_size}: T5 initialises W_Q with a "
    "standard deviation smaller by this factor, which has the same effect at the start of "
    "training.",
    "This configuration {scaling}.",
    *_LATENT,
    "{where}",
    "Concat places the heads side by side{mixing}.",
    "{is_multi_query?} Multi-query attention: all {count} query heads share one head of keys and "
    "values, "
    f"{_SMALLER}",
    "{is_grouped?} Grouped queries: {shared} consecutive query heads share one key/value head, "
    f"{_SMALLER}",
    "Each head’s queries and keys are first normalised ({head_norms}), which keeps the scores "
    "bounded.",
    "Queries and keys are first normalised over all their features ({norms}), which keeps the "
    "scores bounded.",
    "The rotation encodes the order of the tokens: after it, the product of a query and a key "
    "depends on the distance between them, not on their absolute positions. Values are "
    "{rotated_values}",
    "Only {rotated} of the {size} features of a head are rotated (partial rotary embedding); the "
    "others carry no position.",
    "{not has_positions?} There are no position vectors: token order enters as {bias}",
    "{has_positions?} Token order enters as position vectors, in the embeddings, and as {bias}",
    "{table}.",
    "Soft-capping keeps all scores between −{cap} and {cap}: small scores pass almost unchanged, "
    "large ones approach the bound.",
    "Attention sinks: the softmax also includes one learnt score per head (“{sinks}”) that "
    "belongs to no position. Its probability is left out afterwards, so the remaining ones sum to "
    "less than 1: a head can attend to nothing.",
    MASKED,
    CAUSAL,
    "Sliding window: only positions less than {window} away are visible. Information from farther "
    "away arrives over several layers, if at all.",
    "{reads_encoder?} Queries come from the decoder, keys and values from the encoder’s output: "
    "this is where the decoder reads the source.",
    "{reads_other?} Queries come from one input, keys and values from another one.",
    "This module contains the whole sub-layer: attention, output projection, residual connection "
    "and {norm.name}.",
    "{adds_residual?} This module also adds its residual connection.",
    "{explained}",
    "The input is split into {windows} windows; a position attends only to positions of its own "
    "window. Information crosses windows only in other layers.",
    "{is_convolution?} The convolutions look at one position, like linear layers. The module’s "
    "tensors have one column per position; the formula has one row per position.",
    "{limits?} Queries, keys and values are clipped, which bounds the scores.",
    "The convolution adds to each head’s output a weighted sum of the values at the {kernel} "
    "nearest positions, the same for all features of the head.",
    *LANDMARKS,
    DROPOUT,
)
"""Notes, the most important first."""

WHERE = {
    "single": "The single head uses all {unit} of W_Q, W_K and W_V.",
    "three": "All {count} heads are stacked in the same three weights: head h has {rows} of W_Q, "
    "W_K and W_V, {first}",
    "grouped": "The heads are stacked: query head h (0 to {last_head}) has {rows} of W_Q, and "
    "key/value head g (0 to {last_group}) has {unit} {key_rows} of W_K and{value_rows} W_V.",
    "interleaved": "{query.holder} stacks the heads, {three_sizes} {unit} each: the first {size} "
    "are the head’s {unit} of {weights[0]}, the next those of {weights[1]}, the last those of "
    "{weights[2]}.",
    "unequal": "{query.holder} stacks the weights of {names}: {listed}, in this order ({unit}). "
    "Within each, head h has {rows}, {first}",
    "equal": "{query.holder} {stacks} the weights of {names}{side_by_side}, {outputs} {unit} each. "
    "Within each, head h has {rows}, {first}",
    "unknown": "{query.holder} holds the weights of {names} together.",
}
"""Where each head's part of the weights is, by how they are stored."""

INPUTS = (
    TOKENS,
    Term("X", "input, one row per position", "[S, {query.layer.inputs}]"),
    Term('X_"enc"', "the encoder’s output", "[S', {key.layer.inputs}]"),
    Term('X_"kv"', "input of keys and values", "[S', {key.layer.inputs}]"),
    Term("S'", "{what_it_counts}"),
    Term("X_V", "input of the values", "[S, {value.layer.inputs}]"),
)
HEADS = (
    Term("h", "index of the head, counted from 0", "{heads}"),
    Term("Q_h, K_h, V_h", "the {size} columns of head h in {same_columns}", "[S, {size}]"),
    Term("Q_h", "the {size} columns of head h in {query_columns}", "[S, {size}]"),
    Term(GROUP, "key/value head that a query head uses", "{groups}"),
    Term(
        f"K_({GROUP}(h)), V_({GROUP}(h))",
        "the {size} columns of this head in K and V",
        "[S, {size}]",
    ),
)
CHANGES = (
    Term('op("clip")', "limits each number to the range {limits}"),
    Term(
        ROTATION,
        "rotates pairs of features by an angle that grows with the position; no parameters",
    ),
    Term("u_h", "learnt vector of head h, added to all queries", "[{size}]"),
)
PROBABILITIES = (
    Term(
        "w_h",
        "kernel of head h of a convolution over positions (ast is the convolution)",
        "[{kernel}]",
    ),
    Term("Z_h", "scores of head h, a matrix with elements z"),
    Term("z_h", "learnt score of head h that belongs to no position", "[{count}]"),
    Term(
        "M",
        "mask: 0 at visible positions, −∞ at masked ones ({hidden})",
    ),
    Term("P_h", "attention probabilities of head h; {rows_sum} 1"),
    Term("O_h", "output of head h", "[S, {value_size}]"),
    Term("d_k", "{size_name}; the scores are divided by its square root", "{size}"),
    Term("alpha", "constant factor applied to the scores instead of 1/√d_k", "{factor}"),
)
RESIDUAL = 'X_"res"'
RESIDUAL_TERM = Term(RESIDUAL, "residual: the input of the sub-layer")
PAIRS = (
    Term("x", "query or key of one head at position s", "[{rotated_size}]"),
    Term("s", "position, counted from 0"),
    Term("theta_i", "rotation angle of pair i per position"),
)
