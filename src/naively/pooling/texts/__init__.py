"""The evidence of text: what its terms weigh, and how sure a text can be."""
