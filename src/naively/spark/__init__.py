"""Train and apply models on Spark: an estimator of `pyspark.ml`, and its model.

Needs naively[spark].
"""

try:
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        "naively.spark needs pyspark, which is not installed: pip install 'naively[spark]'"
    ) from error

from naively.spark.classifier import Classifier, ClassifierModel

__all__ = ["Classifier", "ClassifierModel"]
