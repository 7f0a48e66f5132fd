"""Is naive Bayes enough here, and would more rows help?"""
