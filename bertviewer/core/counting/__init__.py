"""Counts and shapes as formulas: derived by experiment, proven, and written as a person would."""
