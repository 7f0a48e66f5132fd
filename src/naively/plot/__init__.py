"""Plot fitted models with display classes like those of scikit-learn; needs matplotlib.

Create one with ``SomeDisplay.from_estimator(model, ...)``. It stores what it shows as attributes,
and ``plot(ax=...)`` draws it again. No global settings change, and no window opens by itself::

    model = GaussianBayes().fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y)
    display.ax_.set_title("full covariance")
    display.figure_.savefig("boundary.png")
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("naively.plot needs matplotlib: pip install 'naively[plot]'") from error

from naively.plot.assumption import NaiveAssumptionDisplay
from naively.plot.boundary import DecisionBoundaryDisplay
from naively.plot.calibration import CalibrationDisplay
from naively.plot.density import ClassDensityDisplay
from naively.plot.images import ImageDisplay
from naively.plot.informative import InformativeFeaturesDisplay
from naively.plot.learning import LearningCurvesDisplay
from naively.plot.lectures import BayesErrorDisplay, CoinDisplay, IdenticalRowsDisplay
from naively.plot.parameters import ParametersDisplay
from naively.plot.ranking import PrecisionRecallDisplay, RocCurveDisplay
from naively.plot.shapes import CategoriesDisplay, EvidenceDisplay
from naively.plot.smoothing import SmoothingDisplay

__all__ = [
    "BayesErrorDisplay",
    "CalibrationDisplay",
    "CategoriesDisplay",
    "ClassDensityDisplay",
    "CoinDisplay",
    "DecisionBoundaryDisplay",
    "EvidenceDisplay",
    "IdenticalRowsDisplay",
    "ImageDisplay",
    "InformativeFeaturesDisplay",
    "LearningCurvesDisplay",
    "NaiveAssumptionDisplay",
    "ParametersDisplay",
    "PrecisionRecallDisplay",
    "RocCurveDisplay",
    "SmoothingDisplay",
]
