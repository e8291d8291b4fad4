"""What helps without a connection: all keys, and what is what."""
