"""Generic widgets without knowledge of models."""
