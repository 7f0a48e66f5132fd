"""Write a model report as one HTML page: its features, its accuracy, and a form to try it."""
