"""What a verdict is, and every judge that gives one."""
