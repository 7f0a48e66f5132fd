"""Text evidence of `AutoBayes`: weights of terms, texts that recur, prior mixing."""
