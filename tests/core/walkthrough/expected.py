"""Steps that walks are expected to have."""

WORDS = ["Token IDs", "Token embedding"]
SEGMENTED = ["Token IDs", "Segment IDs", "Token embedding", "Segment embedding", "Add"]
LAST = ["Embedding norm", "Embedding dropout"]
BERT = [*SEGMENTED, "Position embedding", *LAST]
ATTENTION, MASKED, CROSS = (
    "Multi-head self-attention",
    "Masked self-attention",
    "Multi-head cross-attention",
)


POST_NORM = [ATTENTION, "Dropout", "Add", "Norm", "Feed-forward network", "Dropout", "Add", "Norm"]
PRE_NORM = ["Norm", ATTENTION, "Dropout", "Add", "Norm", "Feed-forward network", "Dropout", "Add"]
PLAIN = [name for name in PRE_NORM if name != "Dropout"]
EXPERTS = ["Norm", ATTENTION, "Add", "Norm", "Router", "Experts", "Add"]
OTHER = "Layer 1"
