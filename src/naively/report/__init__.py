"""A model as one page for people: what it learned, how well it predicts, and a form to try it."""
