"""Corpora in the window: what a model does to many sentences."""
