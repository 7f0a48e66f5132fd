"""What a classifier of tables says of rows that it puts into another class than expected."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from naively.posterior import Posterior
from naively.tables.why_not import WhyNot, why_not


class AsksWhyNot:
    """`why_not` of tables."""

    @abstractmethod
    def _posterior(self) -> Posterior: ...

    @abstractmethod
    def _encoded(self, X: Any, posterior: Posterior) -> tuple[Any, Any]: ...

    def why_not(self, X: Any, label: Any = None) -> list[WhyNot]:
        """Which change of one column would make each row be of another class, by the model.

        Each change is judged by the model itself, with the others of the row as they are. The
        values that are tried are those of rows drawn from the model, so that they are plausible;
        of numbers the nearest one that is enough is told. That the model would say something else
        does not mean that the world would be so.

        Parameters
        ----------
        X : the rows.
        label : the class that is asked about; by default the next most probable one of each.

        Returns
        -------
        list of `WhyNot` : print one, or ask it for its `changes`; for columns of text, its `terms`.

        Raises
        ------
        ValueError : if the label is not one of the classes; or for a sparse matrix.
        """
        posterior = self._posterior()
        table, _ = self._encoded(X, posterior)
        return list(why_not(posterior, table, label))
