"""The judge inside common tools, a thin file for each.

A file that extends a framework's own types imports it; where it is not installed, the error names
the extra.
"""
