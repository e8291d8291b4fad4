"""What the figures of a run say: words, similarity, outliers, and what goes with what."""
