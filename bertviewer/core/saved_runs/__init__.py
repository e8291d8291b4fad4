"""Runs saved to a file: exact, and validated when they are read.

``run_file`` has the content as plain data, ``file_format`` reads and writes it, ``validation``
checks what types can't express.
"""
