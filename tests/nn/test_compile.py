"""What compilers and exporters of torch do with a model whose loops are compiled already."""

import subprocess
import sys

import pytest
import torch
from torch._dynamo.testing import CompileCounter

import lgan

EDGES = torch.tensor([[0, 1, 2, 3], [1, 2, 0, 4]])

FIRST_CALL = """
import torch, lgan
from lgan.zoo.gin import GIN
from torch_geometric.data import Batch, Data
x, edges = torch.randn(5, 3), torch.tensor([[0, 1, 2, 3], [1, 2, 0, 4]])
model, args = {}
out = torch.compile(model, backend="eager")(*args)
out.sum().backward()
torch.testing.assert_close(out, model(*args))
"""
GRAPHS = "Batch.from_data_list([Data(x=x, edge_index=edges)] * 2)"


@pytest.mark.parametrize("case", ["lgan.LGANConv(3, 4), (x, edges)", f"GIN(3, 4, 2), ({GRAPHS},)"])
def test_a_compiled_layer_can_be_the_first_to_call_the_loops(case):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIRST_CALL.format(case)],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]


class _Around(torch.nn.Module):
    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model, self.head = model, torch.nn.Linear(2, 2)

    def forward(self, batch: lgan.graph.GraphBatch) -> torch.Tensor:
        out = self.model(batch)
        return self.head(out).sigmoid()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [False, True])
def test_a_compiled_model_runs_as_it_is_whatever_the_shape(training):
    union = lgan.load("triangles")
    model = lgan.LGAN(union.num_features, 8, 2, num_layers=2, residual=True).train(training)
    around = _Around(model)
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(around, backend=counter)
    frames = []
    for i in range(5):
        batch = union.batch(torch.arange(i, 12 + 5 * i))
        out = compiled(batch)
        if training:
            out.sum().backward()
        else:
            torch.testing.assert_close(out, around(batch))
        frames.append(counter.frame_count)
    torch._dynamo.reset()
    assert 0 < frames[1] == frames[-1], "what surrounds the model is compiled, and not per shape"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "export",
    [
        lambda layer, args: torch.export.export(layer, args),
        lambda layer, args: torch.export.export(layer, args, strict=True),
        lambda layer, args: torch.jit.trace(layer, args),
    ],
    ids=["export", "strict export", "trace"],
)
def test_an_export_is_refused_with_what_to_do(export):
    with pytest.raises(
        Exception, match=r"The network cannot be exported.*Save `model.state_dict\(\)`"
    ):
        export(lgan.LGANConv(3, 4), (torch.randn(5, 3), EDGES))
