"""RAGHalu: first whether a sentence claims anything, then whether the documents support it."""
