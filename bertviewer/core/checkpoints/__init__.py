"""What a checkpoint holds: found, checked and read without a library that could run its code."""
