"""Charts and tables of figures on screen, with what one can do with each."""
