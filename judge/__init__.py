"""What a verdict is, and every judge that returns one."""
