"""People label rows on a local web page; their labels are kept, exported and compared."""
