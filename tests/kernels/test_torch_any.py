import networkx as nx
import torch

import reference
from lgan import EgoLines, kernels


def test_the_torch_backend_is_differentiable_twice():
    pairs = torch.tensor(reference.pairs(nx.wheel_graph(5))).t()
    lines, _ = EgoLines.compressed(pairs, 5)
    n, inside, weight = lines.num_nodes, lines.incidence, lines.multiplicity
    a, table = (torch.randn(rows, 4, dtype=torch.float64, requires_grad=True) for rows in (n, 2))
    code = torch.arange(lines.num_pairs) % 2
    scale, shift = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    ptr = torch.tensor([0, 2, n])

    def norm(*parts: torch.Tensor) -> torch.Tensor:
        running = torch.zeros(4).double(), torch.ones(4).double()
        return kernels.norm(*parts, running=running, momentum=0.1, eps=1e-5, relu=True)

    check = torch.autograd.gradgradcheck
    with kernels.backend("torch"):
        check(lambda a, t: kernels.ego_sum(a.tanh(), inside, 2, table=t, code=code), (a, table))
        check(lambda a: kernels.linear_sum(a.tanh(), inside, 2), (a,))
        check(lambda a: kernels.segment_sum(a.tanh(), weight, ptr), (a,))
        check(lambda *p: norm(p[0], weight, *p[1:]), (a, scale, shift))


def test_the_torch_backend_computes_in_half_precision():
    lines = EgoLines.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3)
    a = torch.ones(3, 4, dtype=torch.bfloat16)
    assert kernels.ego_sum(a, lines.incidence, 2).dtype == torch.bfloat16
    assert kernels.ego_sum(a, lines.incidence, 2).tolist() == [[4, 4, 2, 2]] * 3
