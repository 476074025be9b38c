"""Corrupt the structures that a user can pass, one field at a time, and try every door.

A program of its own, so that a crash is an exit code: prints how many corruptions were refused and
how many gave the right result, and fails where anything else came out.
"""

import faulthandler
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

import lgan
from lgan import EgoLines, GraphUnion, ops
from lgan.graph import GraphBatch, undirected_pairs
from lgan.graph.ego_lines import FIELDS
from lgan.graph.pair_codes import pair_codes
from lgan.ops.row_sum import SparseRows, row_sum

# What is done to a field; random places are drawn anew for every call.
CORRUPTIONS: dict[str, Callable[[Tensor], Any]] = {
    "none": lambda t: None,
    "numpy": lambda t: t.numpy(),
    "list": lambda t: t.tolist(),
    "float": lambda t: t.double(),
    "int16": lambda t: t.to(torch.int16),
    "int64": lambda t: t.to(torch.int64),
    "bool": lambda t: t != 0,
    "complex": lambda t: t.to(torch.complex64),
    "scalar": lambda t: t.flatten()[0] if t.numel() else t.new_zeros(()),
    "extra axis": lambda t: t.unsqueeze(0),
    "flat": lambda t: t.flatten(),
    "transposed": lambda t: t.t() if t.dim() == 2 else t,
    "empty": lambda t: t[..., :0],
    "shorter": lambda t: t[..., :-1],
    "longer": lambda t: torch.cat([t, t[..., -3:]], -1),
    "fewer rows": lambda t: t[:-1],
    "strided": lambda t: torch.stack([t, t], -1)[..., 0],
    "backwards": lambda t: t.flip(-1),
    "shuffled": lambda t: t[..., torch.randperm(t.size(-1))],
    "one negative": lambda t: _with(t, -1),
    "one far below": lambda t: _with(t, -(2**31)),
    "one too large": lambda t: _with(t, 60),
    "one far too large": lambda t: _with(t, 10**6),
    "one beyond 32 bits": lambda t: _with(t.long(), 2**32 + 1),
    "all too large": lambda t: t + 10**6,
    "all wrapped": lambda t: t.long() + 2**32,
    "one changed": lambda t: _with(t, 1),
    "one zero": lambda t: _with(t, 0),
    "NaN": lambda t: _with(t.float(), torch.nan),
}


def _with(t: Tensor, value: float) -> Tensor:
    t = t.clone()
    if t.numel():
        t.view(-1)[torch.randint(t.numel(), ())] = value
    return t


def _graph(nodes: int, seed: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    return Data(x=torch.randn(nodes, 3, generator=generator), edge_index=edges)


def _batch() -> Data:
    prepare = lgan.EgoLineGraph(pair_code="full")
    return Batch.from_data_list([prepare(_graph(nodes, nodes)) for nodes in (9, 14, 11)])


def _plain(batch: Data) -> Data:
    """The same without the edges, so that nothing but the fields themselves can be compared."""
    plain = Data(**{name: getattr(batch, name) for name in (*FIELDS, "x", "ptr", "pair_code")})
    return plain


def _model(name: str, training: bool) -> Callable[[Any], Tensor]:
    torch.manual_seed(0)
    options = {"pair_code": "full"} if name == "codes" else {}
    if name == "gin":
        return lgan.zoo.build("gin", 3, 4, 2, num_layers=2).train(training)
    comb = "linear" if name == "linear" else "deepsets"
    return lgan.LGAN(3, 4, 2, num_layers=2, residual=True, comb=comb, **options).train(training)


def _run(door: Callable[[], Any], refusal: tuple[type[Exception], ...]) -> Tensor | None:
    """What a door gives, or nothing where the input was refused."""
    try:
        out: Tensor = door()
    except refusal:
        return None
    return out


def _try(what: str, door: Callable[[], Any], seen: Counter[str]) -> None:
    # An operation inside the library may fail in any way, as long as it does not crash.
    inside = what.startswith(("segment_sum", "ego_sum", "row_sum"))
    refusal = (Exception,) if inside else (ValueError, TypeError)
    got = _run(door, refusal)
    if got is None:
        seen["refused"] += 1
        return
    with ops.backend("torch"):
        expected = _run(door, refusal)
    assert expected is not None, f"{what}: accepted by the compiled loops alone"
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4, equal_nan=True, msg=what)
    seen["right"] += 1


def _copy(data: Data, name: str, value: Any) -> Data:
    changed = data.clone()
    changed[name] = value
    return changed


def fuzz_models(seen: Counter[str]) -> None:
    """Fields of a PyG batch, with and without its edges."""
    batch = _batch()
    for data in (batch, _plain(batch)):
        names = [name for name in (*FIELDS, "pair_code", "x", "ptr", "edge_index") if name in data]
        for name in names:
            for kind, corrupt in CORRUPTIONS.items():
                try:
                    changed = _copy(data, name, corrupt(data[name]))
                except RuntimeError:  # of torch, before there was anything to pass
                    continue
                for model in ("codes", "linear"):
                    for training in (False, True):
                        what = f"{model} {name} {kind} training={training}"
                        _try(what, lambda m=model, t=training, c=changed: _model(m, t)(c), seen)


def fuzz_layer(seen: Counter[str]) -> None:
    """The arguments of one layer, of the operations, and of functions on pairs."""
    data = _graph(12, 0)
    pairs = undirected_pairs(data.edge_index, 12)
    lines = EgoLines.from_pairs(pairs, 12)
    weight, ptr = torch.rand(12), torch.tensor([0, 4, 4, 12])
    code, table = torch.randint(3, (lines.num_pairs,), dtype=torch.int32), torch.randn(3, 8)
    a = torch.randn(12, 8)
    given = {
        "edge_index": data.edge_index, "pair_index": pairs, "node_weight": weight, "ptr": ptr,
        "code": code, "table": table, "a": a, "x": data.x, "multiplicity": lines.multiplicity,
    }  # fmt: skip

    def conv(**change: Any) -> Tensor:
        v = given | change
        torch.manual_seed(0)
        return lgan.LGANConv(3, 4)(v["x"], v["edge_index"], node_weight=v["node_weight"])

    doors: dict[str, tuple[Callable[..., Any], str]] = {
        "LGANConv": (conv, "x edge_index node_weight"),
        "triangles": (lambda edge_index: lgan.triangles(edge_index, 12), "edge_index"),
        "from_pairs": (lambda pair_index: EgoLines.from_pairs(pair_index, 12).opposite_index,
                       "pair_index"),
        "merged": (lambda multiplicity: EgoLines.from_pairs(
            pairs, 12, multiplicity=multiplicity).pair_triangles, "multiplicity"),
        "compressed": (lambda pair_index: EgoLines.compressed(pair_index, 12)[1], "pair_index"),
        "pair_codes": (lambda pair_index: pair_codes(pair_index, 12, "full"), "pair_index"),
        "coded": (lambda multiplicity: pair_codes(pairs, 12, "full", multiplicity=multiplicity),
                  "multiplicity"),
        "segment_sum": (lambda ptr: ops.segment_sum(a, weight, ptr), "ptr"),
        "GraphBatch": (lambda ptr: lgan.LGAN(8, 4, 2).eval()(
            GraphBatch(a, torch.zeros(3), ptr, torch.arange(3), lines)) * 0, "ptr"),
        "ego_sum": (lambda **change: ops.ego_sum(
            *((v := given | change)["a"], lines, 4), table=v["table"], code=v["code"]),
            "a table code"),
        "row_sum": (lambda ptr: row_sum(a, SparseRows(ptr, code, torch.zeros(13).long(), code)),
                    "ptr"),
    }  # fmt: skip
    for door, (function, names) in doors.items():
        for name in names.split():
            for kind, corrupt in CORRUPTIONS.items():
                try:
                    value = corrupt(given[name])
                except RuntimeError:
                    continue
                _try(f"{door} {name} {kind}", lambda f=function, n=name, v=value: f(**{n: v}), seen)


def fuzz_unions(seen: Counter[str]) -> None:
    """Tensors of a file, and the parts a union is built from."""
    batch = _batch()
    parts = {"x": batch.x, "y": torch.tensor([0, 1, 0]), "node_ptr": batch.ptr}
    parts["pair_index"] = undirected_pairs(batch.edge_index, batch.num_nodes)

    def outputs(union: GraphUnion) -> Tensor:
        return _model("codes", False)(union.batch(torch.tensor([2, 0])))

    def build(**given: Tensor) -> Tensor:
        return outputs(GraphUnion.build(**given, num_features=3, num_classes=2, pair_code="full"))

    stored = GraphUnion.build(**parts, num_features=3, num_classes=2, pair_code="full").tensors()
    for door, fields in ((build, parts), (None, stored)):
        for name, value in fields.items():
            for kind, corrupt in CORRUPTIONS.items():
                try:
                    changed = fields | {name: corrupt(value)}
                except RuntimeError:
                    continue
                if door is None:
                    _try(f"file {name} {kind}",
                         lambda c=changed: outputs(GraphUnion.from_tensors(c)), seen)  # fmt: skip
                else:
                    _try(f"build {name} {kind}", lambda c=changed: build(**c), seen)


if __name__ == "__main__":
    faulthandler.enable()
    torch.set_num_threads(1)
    seen: Counter[str] = Counter()
    torch.manual_seed(int(sys.argv[1]))
    for fuzz in (fuzz_models, fuzz_layer, fuzz_unions):
        fuzz(seen)
    print(seen["refused"], seen["right"])
