"""What each module computes: formulas, their symbols with a node's values, and plain words."""
