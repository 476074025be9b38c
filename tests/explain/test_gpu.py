import pytest
import torch
from torch_geometric.data import Data

import lgan

PAW = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]]))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("residual", [False, True])
def test_attribution_on_a_gpu_is_that_of_the_cpu(residual):
    torch.manual_seed(0)
    model = lgan.LGAN(4, 8, 2, num_layers=3, residual=residual).eval()
    here = lgan.attribute(model, PAW, target=1)
    there = lgan.attribute(model.to("cuda"), PAW.clone().to("cuda"), target=1)
    torch.testing.assert_close(there.edge_scores.cpu(), here.edge_scores, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(there.node_scores.cpu(), here.node_scores, rtol=1e-3, atol=1e-4)
    assert abs(there.output - here.output) < 1e-3
