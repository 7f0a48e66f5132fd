"""Tables in files, read as a stream of Arrow batches."""
