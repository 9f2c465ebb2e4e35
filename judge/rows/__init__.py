"""Rows in: files of any common format, fields by the names that users give them."""
