"""The process, its memory and log, and the libraries that it loads."""
