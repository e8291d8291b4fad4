"""What is in a tensor: its values where they are, and what is read off them."""
