"""What is on paper: the document as plain data, its typesetting, its formats."""
