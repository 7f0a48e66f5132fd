"""The pool of evidence behind `AutoBayes`: how it is fitted, kept and asked."""
