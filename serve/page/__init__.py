"""The page at `/`, on which a person judges answers: Gradio on top of the server's own queue."""
