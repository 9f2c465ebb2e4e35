"""What surrounds the routes: middleware, and the one form of errors."""
