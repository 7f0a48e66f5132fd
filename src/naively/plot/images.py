"""Plot the parameters of each pixel or voxel as images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from naively.core.exact import Float64
from naively.core.labels import Labels
from naively.plot import style
from naively.plot.models import check_classes, model_of, normals

COLOURS = "gray_r", "cividis"  # colour maps of the first and the second quantity
OUTSIDE = "0.85"  # the grey outside of the mask
ACROSS = 6  # classes side by side, at most; more are drawn below
LARGEST = 1.7  # side of an image, at most, in inches


@dataclass(frozen=True)
class Quantity:
    """One number for each class and pixel."""

    name: str
    values: Float64  # (C, d)
    colours: str  # name of a colour map
    symmetric: bool = False  # whether 0 is in the middle of the colour map


@dataclass(kw_only=True, eq=False, repr=False)
class ImageDisplay:
    """Images of each class: the mean and standard deviation of each pixel, or its probability.

    Lecture 2, "Learned Naive Bayes Models - Means for P(BrainActivity | WordCategory)". A column is
    a class and a row a quantity: for `GaussianNB` and `GaussianBayes` means and standard
    deviations, in the unit of the pixels; for `BernoulliNB` the probability that a pixel is on; for
    `MultinomialNB` its share of all counts; for `PoissonNB` the mean count.

    Parameters
    ----------
    quantities : list of Quantity, each of (C, d) numbers.
    classes : (C,) labels.
    mask : boolean array of the image, true where the d pixels are, in C order.

    Attributes
    ----------
    axes_, images_ : (quantities, C) arrays of Axes and AxesImage
    figure_
    """

    quantities: Sequence[Quantity]
    classes: Labels
    mask: npt.NDArray[np.bool_]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        shape: tuple[int, ...] | None = None,
        *,
        mask: Any = None,
        centred: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Take the parameters of a fitted estimator, and draw.

        Parameters
        ----------
        estimator : fitted `GaussianNB`, `GaussianBayes`, `BernoulliNB`, `MultinomialNB` or
            `PoissonNB`, whose features are pixels, row by row.
        shape : of an image; square by default.
        mask : boolean array, true where the features are, in C order; instead of `shape`. With
            three axes, the last one is slices, which are drawn side by side.
        centred : show the difference of each class from the overall mean instead of its mean:
            voxels differ more among themselves than between classes.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError : if the estimator has no such parameters.
        ValueError : if the shape or mask does not fit the number of features.
        """
        quantities = _quantities(estimator)
        check_classes(estimator.classes_)
        d = quantities[0].values.shape[1]
        if mask is None:
            side = math.isqrt(d)
            mask = np.ones((side, side) if shape is None else shape, bool)
        elif shape is not None:
            raise ValueError("pass the shape of an image or a mask, not both")
        mask = np.asarray(mask).astype(bool)
        if mask.sum() != d or mask.ndim not in (2, 3):
            raise ValueError(
                f"the model has {d} features, but an image of shape {mask.shape} has "
                f"{int(mask.sum())} pixels: pass its shape of two numbers, or a mask"
            )
        if centred:
            first = quantities[0]
            weights = np.asarray(estimator.class_count_)
            overall_mean = weights @ first.values / weights.sum()
            quantities[0] = Quantity(
                f"{first.name}\n− overall", first.values - overall_mean, "PuOr_r", symmetric=True
            )
        return cls(quantities=quantities, classes=estimator.classes_, mask=mask).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        images = [[self._image(values) for values in source.values] for source in self.quantities]
        height, width = images[0][0].shape
        bands = -(-len(self.classes) // ACROSS)
        columns, lines = -(-len(self.classes) // bands), len(images)
        side = min(4.6 / columns, LARGEST)
        size = max(columns * side + 1.4, 3.0), bands * (lines * side * height / width + 0.3) + 0.2
        self.figure_, grid = style.grid(ax, bands * lines, columns, size)
        self.axes_ = np.empty((lines, len(self.classes)), object)
        self.images_ = np.empty_like(self.axes_)
        for i, (quantity, line) in enumerate(zip(self.quantities, images, strict=True)):
            for k, image in enumerate(line):
                band, column = divmod(k, columns)
                panel = self.figure_.add_subplot(grid[band * lines + i, column])
                self.axes_[i, k], self.images_[i, k] = panel, self._draw(panel, quantity, image)
                if i == 0:
                    panel.set_title(style.label(self.classes[k]), fontsize="medium")
                if column == 0:
                    panel.set_ylabel(quantity.name, fontsize="medium")
            for first in range(0, len(line), columns):
                row_axes = list(self.axes_[i, first : first + columns])
                bar = self.figure_.colorbar(
                    self.images_[i, first], ax=row_axes, aspect=12, pad=0.02, shrink=0.9
                )
                bar.ax.tick_params(labelsize="small")
        return self

    @staticmethod
    def _draw(panel: Axes, quantity: Quantity, image: Float64) -> AxesImage:
        """Draw one image, on the same scale for all classes."""
        low, high = float(quantity.values.min()), float(quantity.values.max())
        if quantity.symmetric:
            low, high = -max(high, -low), max(high, -low)
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_visible(False)
        colours = colormaps[quantity.colours].with_extremes(bad=OUTSIDE)
        return panel.imshow(image, cmap=colours, vmin=low, vmax=high, interpolation="nearest")

    def _image(self, values: Float64) -> Any:
        """One image, masked outside of the pixels; slices are placed side by side."""
        volume: Any = np.full(self.mask.shape, np.nan)
        volume[self.mask] = values
        if volume.ndim == 3:
            volume = volume[:, :, self.mask.any(axis=(0, 1))]
            height, width, count = volume.shape
            across = math.ceil(math.sqrt(count))
            down = -(-count // across)
            empty = ((0, 0), (0, 0), (0, down * across - count))
            volume = np.pad(volume, empty, constant_values=np.nan)
            volume = volume.reshape(height, width, down, across).transpose(2, 0, 3, 1)
            volume = volume.reshape(down * height, across * width)
        return np.ma.masked_invalid(volume)


def _quantities(estimator: Any) -> list[Quantity]:
    """The quantities of each class and pixel."""
    parameters = normals(estimator)
    if parameters is not None:
        means, spread = parameters
        if spread.ndim == 3:
            spread = np.diagonal(spread, axis1=1, axis2=2)
        deviation = np.sqrt(np.maximum(spread, 0.0))
        spread_of = Quantity("standard\ndeviation", deviation, COLOURS[1])
        return [Quantity("mean", means, COLOURS[0]), spread_of]
    model = model_of(estimator)
    if model.schema.is_single:
        numbers = model.posterior().parameters.numbers()
        if numbers is not None and numbers.pictured:
            return [
                Quantity(name, values, COLOURS[0])
                for name, values in zip(numbers.pictured, numbers.values.values(), strict=True)
            ]
    raise TypeError(
        f"this {type(estimator).__name__} has no mean or probability of each pixel: take "
        "GaussianNB, GaussianBayes, BernoulliNB, MultinomialNB or PoissonNB"
    )
