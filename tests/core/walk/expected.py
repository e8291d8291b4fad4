"""Steps that walks are expected to have."""

WORDS = ["Input-Token", "Embedding-Token"]
SEGMENTED = ["Input-Token", "Input-Segment", "Embedding-Token", "Embedding-Segment", "Add"]
LAST = ["Embedding-Norm", "Embedding-Dropout"]
BERT = [*SEGMENTED, "Embedding-Position", *LAST]
ATTENTION, MASKED, CROSS = (
    "MultiHeadSelfAttention",
    "MaskedSelfAttention",
    "MultiHeadCrossAttention",
)


POST_NORM = [ATTENTION, "Dropout", "Add", "Norm", "FeedForward", "Dropout", "Add", "Norm"]
PRE_NORM = ["Norm", ATTENTION, "Dropout", "Add", "Norm", "FeedForward", "Dropout", "Add"]
PLAIN = [name for name in PRE_NORM if name != "Dropout"]
EXPERTS = ["Norm", ATTENTION, "Add", "Norm", "Router", "Experts", "Add"]
OTHER = "the other layer"
