"""Files with random damage, from a seed, and what the program does with them."""
