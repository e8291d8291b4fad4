"""What other sizes would give, from the formulas alone."""
