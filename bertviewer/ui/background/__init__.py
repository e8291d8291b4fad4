"""What is done in the background: the worker, what it is asked for, and in which order."""
