"""The teacher's walk: from the inputs to the last layer, step by step, and counts by groups."""
