"""Judges that compare the answer with the documents, or with other answers (the four detectors)."""
