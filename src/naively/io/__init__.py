"""Read tables, documents and queries as streams of Arrow batches."""
