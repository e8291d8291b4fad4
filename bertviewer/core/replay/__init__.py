"""What is calculated of an open model when it is looked at."""
