"""Files that were damaged at random, from a seed, and what the program makes of them."""
