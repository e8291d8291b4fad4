"""Pickled checkpoints: what they hold, read and converted by a process of their own."""
