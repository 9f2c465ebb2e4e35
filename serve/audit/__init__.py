"""What was judged and what people say of it: kept in a database, exported, watched over time."""
