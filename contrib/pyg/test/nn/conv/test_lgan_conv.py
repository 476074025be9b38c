import pytest
import torch

from torch_geometric.data import Batch, Data
from torch_geometric.nn import LGANConv
from torch_geometric.testing import is_full_test
from torch_geometric.transforms import EgoLineGraph
from torch_geometric.utils import to_undirected


def get_data():
    # Two triangles that share an edge, with a tail and an isolated node:
    edge_index = torch.tensor([[0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 4]])
    edge_attr = torch.randn(edge_index.size(1), 4)
    edge_index, edge_attr = to_undirected(edge_index, edge_attr, reduce='mean')
    return EgoLineGraph()(Data(torch.randn(6, 8), edge_index, edge_attr))


@pytest.mark.parametrize('residual', [False, True])
@pytest.mark.parametrize('comb', ['deepsets', 'linear'])
@pytest.mark.parametrize('fusion', ['concat', 'sum', 'mean', 'gate'])
@pytest.mark.parametrize('edge_dim', [None, 4])
def test_lgan_conv(residual, comb, fusion, edge_dim):
    data = get_data()
    args = (data.x, data.edge_index, data.ego_line_index)
    if edge_dim is not None:
        args = args + (data.edge_attr, data.ego_line_attr)

    conv = LGANConv(8, 16, residual, comb, fusion, edge_dim)
    assert str(conv) == 'LGANConv(8, 16)'
    out = conv(*args)
    assert out.size() == (6, 16)

    out.sum().backward()
    for param in conv.parameters():
        assert param.grad is not None

    # Sum over all pairs of every ego network, one after the other:
    x, index = data.x, data.edge_index
    attr = {
        (int(u), int(v)): e
        for u, v, e in zip(index[0], index[1], data.edge_attr)
    }

    def encode(p, q, lin, lin_edge):
        z = lin(x[p]) + lin(x[q])
        if edge_dim is not None:
            z = z + lin_edge(attr[p, q])
        return z.relu() if comb == 'deepsets' else z

    T, S = torch.zeros(6, 16), torch.zeros(6, 16)
    for t in range(6):
        for p in range(6):
            if (t, p) in attr:
                T[t] += encode(t, p, conv.lin_target, conv.lin_edge_target)
            for q in range(p + 1, 6):
                if (t, p) in attr and (t, q) in attr and (p, q) in attr:
                    S[t] += encode(p, q, conv.lin_neighbor,
                                   conv.lin_edge_neighbor)
    if fusion == 'concat':
        h = torch.cat([T, S], dim=-1)
    elif fusion == 'gate':
        gate = conv.lin_gate(torch.cat([T, S], dim=-1)).sigmoid()
        h = gate * T + (1 - gate) * S
    else:
        h = (T + S) / (2 if fusion == 'mean' else 1)
    h = conv.lin_fuse(h) + (conv.lin_res(x) if residual else 0)
    h = conv.lin_out(conv.norm_fuse(h).relu())
    assert torch.allclose(conv.norm_out(h).relu(), out, atol=1e-4)

    if is_full_test():
        jit = torch.jit.script(conv.eval())
        assert torch.allclose(jit(*args), conv(*args), atol=1e-6)


def test_lgan_conv_lazy_initialization():
    data = get_data()
    conv = LGANConv(-1, 16, residual=True)
    assert str(conv) == 'LGANConv(-1, 16)'
    out = conv(data.x, data.edge_index, data.ego_line_index)
    assert out.size() == (6, 16)


def test_lgan_conv_batch():
    data1, data2 = get_data(), get_data()
    batch = Batch.from_data_list([data1, data2])

    conv = LGANConv(8, 16, edge_dim=4).eval()
    out, out1, out2 = (conv(data.x, data.edge_index, data.ego_line_index,
                            data.edge_attr, data.ego_line_attr)
                       for data in (batch, data1, data2))
    assert torch.allclose(out, torch.cat([out1, out2]), atol=1e-6)


def test_lgan_conv_isolated_nodes():
    x = torch.randn(4, 8)
    edge_index = torch.empty(2, 0, dtype=torch.long)
    data = EgoLineGraph()(Data(x=x, edge_index=edge_index))

    conv = LGANConv(8, 16, residual=True)
    out = conv(data.x, data.edge_index, data.ego_line_index)
    expected = conv.lin_out(conv.norm_fuse(conv.lin_res(x)).relu())
    assert torch.allclose(out, conv.norm_out(expected).relu(), atol=1e-6)


def test_lgan_conv_is_more_expressive_than_1wl():
    # A hexagon and two triangles:
    i = torch.arange(6)
    hexagon = to_undirected(torch.stack([i, (i + 1) % 6]))
    triangles = to_undirected(torch.stack([i, (i + 1) % 3 + 3 * (i // 3)]))

    conv = LGANConv(1, 16).eval()
    out1, out2 = (conv(data.x, data.edge_index, data.ego_line_index)
                  for data in (EgoLineGraph()(Data(torch.ones(6, 1), index))
                               for index in (hexagon, triangles)))
    assert not torch.allclose(out1.sum(dim=0), out2.sum(dim=0))


def test_lgan_conv_raises():
    with pytest.raises(ValueError, match="Invalid pair encoder"):
        LGANConv(8, 16, comb='max')
    with pytest.raises(ValueError, match="Invalid fusion"):
        LGANConv(8, 16, fusion='max')
    with pytest.raises(ValueError, match="require the 'edge_dim' argument"):
        data = get_data()
        LGANConv(8, 16)(data.x, data.edge_index, data.ego_line_index,
                        data.edge_attr, data.ego_line_attr)
