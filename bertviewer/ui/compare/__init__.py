"""Comparison of two models in a window."""
