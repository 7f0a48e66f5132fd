"""Parts of dates as nodes of an ONNX graph, which has no dates."""

from __future__ import annotations

from onnx import TensorProto

from naively.export.graph import Graph

DAY, WEEK = 86_400, 7
THURSDAY = 3
"""The day of the week of 1970-01-01, from Monday."""
MARCH = 719_468
"""Days from the first of March of the year 0 to 1970."""
CENTURIES = 146_097
"""Days of 400 years, after which the calendar begins again."""


def part_of_dates(graph: Graph, moments: str, part: int) -> str:
    """The part of each date, (N,) int64: see `naively.families.formula.PartCut`.

    Days and months are those of Howard Hinnant's `civil_from_days`, whose years begin in March.

    Parameters
    ----------
    moments : seconds since 1970, (N,) float64.
    part : of the dates.
    """

    def over(a: str, n: int) -> str:
        return graph.op("Floor", graph.op("Div", a, graph.constant(float(n))))

    def plus(*terms: tuple[int, str], more: int = 0) -> str:
        each = [graph.op("Mul", one, graph.constant(float(n))) for n, one in terms]
        return graph.op("Sum", *each, graph.constant(float(more)))

    def rest(a: str, n: int) -> str:
        return plus((1, a), (-n, over(a, n)))

    days = over(moments, DAY)
    if part == 0:
        found = over(plus((1, moments), (-DAY, days)), 3_600)
    elif part == 1:
        found = rest(plus((1, days), more=THURSDAY), WEEK)
    else:
        day = rest(plus((1, days), more=MARCH), CENTURIES)
        year = over(
            plus(
                (1, day), (-1, over(day, 1_460)), (1, over(day, 36_524)), (-1, over(day, 146_096))
            ),
            365,
        )
        day = plus((1, day), (-365, year), (-1, over(year, 4)), (1, over(year, 100)))
        month = over(plus((5, day), more=2), 153)
        if part == 2:
            found = plus((1, day), (-1, over(plus((153, month), more=2), 5)))
        else:
            found = rest(plus((1, month), more=2), 12)
    return graph.op("Cast", found, to=TensorProto.INT64)
