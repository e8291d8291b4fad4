"""What a person left is there again: the window, the model, and what was looked at."""
