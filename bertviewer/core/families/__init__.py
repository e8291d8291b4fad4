"""What a family of models is, said once, as plain data: formulas, checks and runs interpret it."""
