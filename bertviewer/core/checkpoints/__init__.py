"""What a checkpoint holds: found, checked and read without a library that could run its code."""

PICKLE_CHILD = "--convert-pickle"
"""The program's hidden first argument that makes it the child process; two paths follow."""
