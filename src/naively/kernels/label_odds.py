"""What the terms of documents tell of labels, by counts without the documents themselves."""

from naively.kernels.native import first_odds, label_odds, label_weights

__all__ = ["first_odds", "label_odds", "label_weights"]
