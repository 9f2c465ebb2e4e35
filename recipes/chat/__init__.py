"""Fine-tuning of a chat model: what Lynx and RAGHalu's decoder have in common."""
