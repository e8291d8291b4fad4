"""What the window tells of a checkpoint: what of the model is in it, and under which names."""
