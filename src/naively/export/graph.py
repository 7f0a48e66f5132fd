"""An ONNX graph, operator by operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

OPSET, ML_OPSET, FORMAT = 21, 4, 10
"""The versions of operators and file that onnxruntime 1.18 (2024) has, and all since."""

LABEL, PROBABILITIES = OUTPUTS = "label", "probabilities"
"""What the outputs are called, as those of sklearn-onnx."""
OWN = "naively:"
"""What names of the graph's own begin with, so that columns can have any other."""
KINDS = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64, "b": TensorProto.BOOL}
STRING = TensorProto.STRING


def kind_of(values: npt.NDArray[Any]) -> int:
    """The type of a tensor of these values; of what is no number or truth value, text."""
    return KINDS.get(values.dtype.kind, STRING)


class Graph:
    """Nodes and constants, in the order in which they are made."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[ValueInfoProto] = []

    def input(self, name: str, kind: int, columns: int) -> str:
        """A table of so many columns, which is given: (N, columns)."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["N", columns]))
        return name

    def constant(self, values: Any) -> str:
        """Numbers, truth values or text."""
        array = np.asarray(values)
        name = f"{OWN}c{len(self.constants)}"
        kind = kind_of(array)
        if kind == STRING:
            flat: Any = [str(one).encode() for one in array.ravel().tolist()]
            tensor = helper.make_tensor(name, kind, array.shape, flat)
        else:
            exact = array.astype(helper.tensor_dtype_to_np_dtype(kind))
            tensor = helper.make_tensor(name, kind, array.shape, exact.tobytes(), raw=True)
        self.constants.append(tensor)
        return name

    def op(self, kind: str, *inputs: str, out: str = "", said: str = "", **attributes: Any) -> str:
        """The result of an operator, which is called `out` and says what it is for."""
        name = out or f"{OWN}{len(self.nodes)}"
        said = said or f"{OWN}{kind}{len(self.nodes)}"
        node = helper.make_node(kind, inputs, [name], name=said, **attributes)
        self.nodes.append(node)
        return name

    def sum(self, parts: list[str]) -> str:
        """The sum of tensors."""
        return parts[0] if len(parts) == 1 else self.op("Sum", *parts)

    def any(self, parts: list[str]) -> str:
        """Whether any of some tensors of truth values is true, element by element."""
        found = parts[0]
        for one in parts[1:]:
            found = self.op("Or", found, one)
        return found

    def gather(self, values: Any, places: str) -> str:
        """Rows of a constant."""
        return self.op("Gather", self.constant(values), places, axis=0)

    def refuse(self, bad: str, reason: str) -> str:
        """0.0, unless any of some truth values is true: then the runtime refuses to go on.

        ONNX has no errors. The row of a table that has no such row is one; it names its node.
        """
        count = self.op("ReduceSum", self.op("Cast", bad, to=TensorProto.INT64), keepdims=0)
        return self.op(
            "Gather", self.constant(np.zeros(1)), count, axis=0, said=f"refused: {reason}"
        )

    def model(self, outputs: list[ValueInfoProto], said: dict[str, str]) -> ModelProto:
        """The graph as a model, with what it says of itself."""
        graph = helper.make_graph(
            self.nodes, "naively", self.inputs, outputs, initializer=self.constants
        )
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        made = helper.make_model(
            graph, opset_imports=versions, ir_version=FORMAT, producer_name="naively"
        )
        helper.set_model_props(made, said)
        return made
