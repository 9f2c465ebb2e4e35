"""Annotators label rows on a local web page; their labels are stored, exported and compared."""
