"""Files that the program writes, and never over a model's own."""
