"""A record of what the program says and shows of many models, to compare later versions with."""
