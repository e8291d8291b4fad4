"""Two models side by side: what is equal, what changed and by how much, what only one has."""
