"""What the window shows while no model is open: what there is to open, and what is loading."""
