"""Is the naive assumption true here, and which rung of the ladder fits a table?"""
