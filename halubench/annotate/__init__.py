"""Annotators label rows on the terminal; their labels are stored and compared."""
