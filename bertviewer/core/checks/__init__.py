"""Checks: each operation recomputed in float64 with a reference instance, and compared."""
