"""What the larger commands do and print, once they are called."""
