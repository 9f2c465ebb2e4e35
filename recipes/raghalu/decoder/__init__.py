"""RAGHalu's decoder baseline: a 7B chat model fine-tuned to print a sentence's label."""
