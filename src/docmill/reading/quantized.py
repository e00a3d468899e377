"""The layers of a text model in 8 bit numbers, run by onnxruntime.

The graph is written here, from the weights, in the few parts of ONNX that it needs: no file has to
be made, kept and found again, and no second library is needed to write one.
"""

import platform
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Weights = Mapping[str, Floats]
Encode = Callable[[Floats], Floats]

# The largest weight. Processors of the x86 family that lack VNNI add up two products in 16 bits,
# which only those of smaller weights fit into.
WIDEST, WIDEST_WITHOUT_VNNI = 127, 63
CPU_FLAGS: Final = Path("/proc/cpuinfo")
# Numbers of the ONNX format: of fields in its messages, of types, of versions.
FLOAT, INT8, INT64 = 1, 3, 7
IR_VERSION, OPSET, MICROSOFT_OPSET = 8, 18, 1
MICROSOFT: Final = "com.microsoft"
ELEMENTS: Final = {np.dtype(np.float32): FLOAT, np.dtype(np.int8): INT8}


def build_encoder(weights: Weights, *, layers: int, heads: int) -> Encode | None:
    """What turns the pieces of one text, a row each, into what they mean together.

    None where onnxruntime is not installed. A text alone: then its vector is the same whatever is
    read beside it, though the numbers are rounded by the largest of them.
    """
    try:
        import onnxruntime  # noqa: PLC0415  63 MB, which who has no vectors made need not have
    except ImportError:
        return None
    runtime: Any = onnxruntime
    options: Any = runtime.SessionOptions()
    # No threads: it is made before a fork, and the processes are as many as the cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.log_severity_level = 3  # errors
    graph = write_graph(weights, layers=layers, heads=heads)
    session: Any = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return partial(_run, session)


def _run(session: Any, pieces: Floats) -> Floats:
    (found,) = session.run(None, {"pieces": pieces[None]})
    return found[0]


def write_graph(weights: Weights, *, layers: int, heads: int) -> bytes:
    """The ONNX file of these layers: `pieces` in, [1, any number, width], the same out."""
    graph = _Graph(weights, heads)
    name = "pieces"
    for number in range(layers):
        name = graph.add_layer(name, f"encoder.layer.{number}")
    width = len(weights["embeddings.LayerNorm.bias"])
    return _write_model(graph, ("pieces", name), width)


def find_widest() -> int:
    flags = CPU_FLAGS.read_text() if CPU_FLAGS.exists() else ""
    has_vnni = "vnni" in flags or platform.machine() not in {"x86_64", "AMD64"}
    return WIDEST if has_vnni else WIDEST_WITHOUT_VNNI


class _Graph:
    """Nodes and constants, as they are added."""

    def __init__(self, weights: Weights, heads: int) -> None:
        self._weights: Weights = weights
        self._heads: int = heads
        self._widest: int = find_widest()
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def add_layer(self, given: str, layer: str) -> str:
        """Its output's name."""
        attention = f"{layer}.attention"
        names = [f"{attention}.self.{part}" for part in ("query", "key", "value")]
        looks = self._add_dense(given, *names)
        self._add("Split", [looks], names, {"axis": -1, "num_outputs": len(names)}, domain="")
        seen = f"{attention}.seen"
        self._add("MultiHeadAttention", names, [seen], {"num_heads": self._heads})
        middle = self._add_norm(
            given, self._add_dense(seen, f"{attention}.output.dense"), f"{attention}.output"
        )
        wide = self._add_dense(middle, f"{layer}.intermediate.dense")
        self._add("Gelu", [wide], [f"{wide}.gelu"])
        narrow = self._add_dense(f"{wide}.gelu", f"{layer}.output.dense")
        return self._add_norm(middle, narrow, f"{layer}.output")

    def _add_dense(self, given: str, *names: str) -> str:
        """Several of one input go as one."""
        weight = np.concatenate([self._weights[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self._weights[f"{name}.bias"] for name in names])
        scale = (np.abs(weight).max(axis=0) / self._widest).astype(np.float32)
        name = names[0]
        constants = {
            "weight": np.rint(weight / scale).astype(np.int8),
            "scale": scale,
            "zero": np.zeros(len(bias), np.int8),
            "bias": bias,
        }
        inputs = [given, *(self._add_constant(f"{name}.{k}", v) for k, v in constants.items())]
        self._add("DynamicQuantizeMatMul", inputs, [f"{name}.out"])
        return f"{name}.out"

    def _add_norm(self, one: str, other: str, name: str) -> str:
        """Of their sum."""
        constants = [
            self._add_constant(full, self._weights[full])
            for full in (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias")
        ]
        inputs, out = [one, other, *constants], f"{name}.norm"
        self._add("SkipLayerNormalization", inputs, [out], {"epsilon": 1e-12})
        return out

    def _add_constant(self, name: str, array: NDArray[Any]) -> str:
        dims = b"".join(_write_number(1, size) for size in array.shape)
        kind = _write_number(2, ELEMENTS[array.dtype])
        self.constants.append(
            dims + kind + _write_bytes(8, name) + _write_bytes(9, array.tobytes())
        )
        return name

    def _add(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str],
        attributes: Mapping[str, int | float] | None = None, *, domain: str = MICROSOFT,
    ) -> None:  # fmt: skip
        parts = [_write_bytes(1, name) for name in inputs]
        parts += [_write_bytes(2, name) for name in outputs]
        parts += [_write_bytes(4, kind), _write_bytes(7, domain)]
        parts += [_write_bytes(5, _write_attribute(*item)) for item in (attributes or {}).items()]
        self.nodes.append(b"".join(parts))


def _write_model(graph: _Graph, ends: tuple[str, str], width: int) -> bytes:
    given, out = (_write_bytes(1, name) + _write_bytes(2, _write_shape(width)) for name in ends)
    parts = [_write_bytes(1, node) for node in graph.nodes]
    parts += [_write_bytes(5, constant) for constant in graph.constants]
    parts += [_write_bytes(2, "layers"), _write_bytes(11, given), _write_bytes(12, out)]
    versions = {"": OPSET, MICROSOFT: MICROSOFT_OPSET}
    opsets = [_write_bytes(1, name) + _write_number(2, n) for name, n in versions.items()]
    head = _write_number(1, IR_VERSION) + _write_bytes(7, b"".join(parts))
    return head + b"".join(_write_bytes(8, opset) for opset in opsets)


def _write_shape(width: int) -> bytes:
    """Of one text, any number of pieces, and the numbers of each."""
    dims = (_write_number(1, 1), _write_bytes(2, "pieces"), _write_number(1, width))
    shape = b"".join(_write_bytes(1, dim) for dim in dims)
    return _write_bytes(1, _write_number(1, FLOAT) + _write_bytes(2, shape))


def _write_attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _write_bytes(1, name) + _write_number(3, value) + _write_number(20, 2)
    return _write_bytes(1, name) + b"\x15" + struct.pack("<f", value) + _write_number(20, 1)


def _write_number(field: int, value: int) -> bytes:
    return _write_varint(field << 3) + _write_varint(value)


def _write_bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _write_varint(field << 3 | 2) + _write_varint(len(data)) + data


def _write_varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; below zero as 64 bits."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
