import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import pytest
import torch
from threadpoolctl import threadpool_info

import reference
from lgan import EgoLines, LGANConv, ops
from lgan.ops import threads as threads_module
from lgan.train.stack import stack

CPU = torch.device("cpu")


@pytest.fixture
def threads(monkeypatch):
    """Set the number of threads, with no work too small for them."""
    before = torch.get_num_threads()
    monkeypatch.setattr(threads_module, "SMALL", 1)
    yield torch.set_num_threads
    torch.set_num_threads(before)


def _everything(models: int, width: int) -> list[torch.Tensor]:
    """Results and gradients of all operations on one fixed input."""
    torch.manual_seed(0)
    graph = nx.gnp_random_graph(40, 0.3, seed=0)
    lines = EgoLines.from_edge_index(reference.edge_index(graph), 40)
    a = torch.randn(models, 40, 2 * width, requires_grad=True)
    table = torch.randn(models, 3, 2 * width, requires_grad=True)
    code = torch.randint(3, (lines.num_pairs,), dtype=torch.int32)
    scale, shift = (torch.randn(models, 2 * width, requires_grad=True) for _ in range(2))
    ptr, weight = torch.tensor([0, 17, 17, 40]), torch.randint(1, 4, (40,))
    running = torch.zeros(models, 2 * width), torch.ones(models, 2 * width)
    results = [
        ops.ego_sum(a, lines, width, table=table, code=code),
        ops.ego_sum(a, lines, width),
        ops.linear_sum(a, lines, width),
        ops.norm(a, weight, scale, shift, running=running, momentum=0.1, eps=1e-5),
        ops.segment_sum(a, weight, ptr),
    ]
    loss = sum((result * torch.randn(result.shape)).sum() for result in results)
    return [*results, *running, *torch.autograd.grad(loss, [a, table, scale, shift])]


@pytest.mark.parametrize("models", [1, 2, 5])
@pytest.mark.parametrize("width", [7, 20, 40, 50])
def test_the_number_of_threads_changes_no_bit(models, width, threads):
    threads(1)
    alone = _everything(models, width)
    for count in (2, 3, 4):
        threads(count)
        for got, expected in zip(_everything(models, width), alone, strict=True):
            assert torch.equal(got, expected)


@pytest.mark.parametrize("planes", [1, 2, 3, 7])
@pytest.mark.parametrize("columns", [1, 16, 33, 64])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_parts_cover_every_column_of_every_plane_once(planes, columns, count, threads):
    threads(count)
    seen = torch.zeros(planes, columns)

    def loop(k0: int, k1: int, c0: int, c1: int) -> None:
        seen[k0:k1, c0:c1] += 1

    threads_module.in_threads(loop, planes, columns, 1)
    assert bool((seen == 1).all())


def test_small_work_stays_on_the_calling_thread(monkeypatch):
    parts = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    threads_module.in_threads(lambda *part: parts.append(part), 8, 64, threads_module.SMALL - 1)
    assert parts == [(0, 8, 0, 64)]


def test_an_error_in_a_thread_reaches_the_caller(threads):
    threads(2)

    def loop(k0: int, k1: int, c0: int, c1: int) -> None:
        if k0 > 0:
            raise RuntimeError("in the second half")

    with pytest.raises(RuntimeError, match="in the second half"):
        threads_module.in_threads(loop, 2, 8, 1)


def _trained_layer(models: int, comb: str) -> list[torch.Tensor]:
    """Result, statistics and gradients of stacked layers that threads take apart."""
    torch.manual_seed(0)
    layer = stack([LGANConv(8, 16, residual=True, comb=comb) for _ in range(models)])
    x = torch.randn(models, 40, 8, requires_grad=True)
    edges = reference.edge_index(nx.gnp_random_graph(40, 0.3, seed=0))
    with ops.model_threads(torch.device("cpu")):
        out = layer(x, edges)
        (out * torch.randn(out.shape)).sum().backward()
    return [out.detach(), *layer.buffers(), x.grad, *(p.grad for p in layer.parameters())]


@pytest.mark.parametrize("models", [2, 5])
@pytest.mark.parametrize("comb", ["deepsets", "linear"])
def test_threads_that_take_models_apart_change_no_bit(models, comb, threads):
    threads(1)
    alone = _trained_layer(models, comb)
    for count in (2, 3):
        threads(count)
        for got, expected in zip(_trained_layer(models, comb), alone, strict=True):
            assert torch.equal(got, expected)
        assert torch.get_num_threads() == count


@pytest.mark.parametrize("planes", [1, 2, 7])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_plane_goes_to_one_thread(planes, count, threads):
    threads(count)
    seen = torch.zeros(planes)

    def loop(k0: int, k1: int) -> None:
        seen[k0:k1] += 1

    with ops.model_threads(torch.device("cpu")):
        threads_module.by_planes(loop, planes, 1)
    assert bool((seen == 1).all())


@pytest.mark.parametrize(("pieces", "each"), [(1, 3), (2, 3), (3, 1), (7, 1)])
def test_pieces_beside_each_other_share_the_threads(pieces, each, threads):
    threads(3)
    seen = []
    with ops.model_threads(torch.device("cpu")):
        ops.side_by_side(lambda i: seen.append((i, threads_module._threads.get())), pieces)
    assert sorted(seen) == [(i, each) for i in range(pieces)]


def test_inside_numbers_below_the_normal_ones_are_zero_in_every_thread(threads):
    threads(3)

    def smallest() -> list[float]:
        seen = torch.full((3,), 1e-39)

        def loop(k0: int, k1: int) -> None:
            seen[k0:k1] *= 1

        threads_module.by_planes(loop, 3, work=1)
        return seen.tolist()

    if not torch.set_flush_denormal(False):
        pytest.skip("this processor keeps numbers below the normal ones")
    assert min(smallest()) > 0
    with ops.model_threads(torch.device("cpu")):
        assert smallest() == [0.0, 0.0, 0.0]
    assert min(smallest()) > 0


def test_who_takes_them_for_zero_before_does_so_after(threads):
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor keeps numbers below the normal ones")
    try:
        with ops.model_threads(torch.device("cpu")):
            pass
        assert not bool(torch.full((), 1e-39) * 1 > 0)
    finally:
        torch.set_flush_denormal(False)


def _sums() -> list[float]:
    with ops.model_threads(torch.device("cpu")):
        found = _everything(2, 50)
    big = torch.ones(1 << 20).sum()  # an operation that torch shares out itself
    return [float(big), *(float(t.detach().double().sum()) for t in found)]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_that_it_does_not_have(threads):
    threads(3)
    expected = _sums()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_sums).get(timeout=120) == expected


def test_nobody_gets_a_million_threads(threads):
    before = torch.get_num_threads()
    with ops.at_most(10**6):
        assert torch.get_num_threads() == threads_module.MOST
    assert torch.get_num_threads() == before


def _blas() -> list[int]:
    """How many threads each library of linear algebra has."""
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def _in_a_new_thread(call):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(timeout=60)


@pytest.mark.parametrize("limited", [lambda: ops.at_most(1), lambda: ops.model_threads(CPU)])
def test_who_leaves_last_gives_the_process_its_threads_back(limited, threads):
    """The second comes while the first is inside, and stays longer."""
    threads(3)
    first, second, left = (threading.Event() for _ in range(3))
    seen = {}

    def come_first():
        with limited():
            first.set()
            assert second.wait(60)
        seen["first"] = torch.get_num_threads()
        left.set()

    def come_second():
        assert first.wait(60)
        with limited():
            second.set()
            assert left.wait(60)
            seen["inside"] = torch.get_num_threads(), set(_blas())
        seen["second"] = torch.get_num_threads()

    before = _blas()
    with ThreadPoolExecutor(2) as pool:
        for job in [pool.submit(come_first), pool.submit(come_second)]:
            job.result(timeout=120)
    assert _blas() == before
    assert seen == {"first": 3, "inside": (1, {1} if before else set()), "second": 3}
    assert torch.get_num_threads() == _in_a_new_thread(torch.get_num_threads) == 3


def test_threads_that_come_and_go_leave_the_process_as_it_was(threads):
    threads(3)

    def come_and_go(number):
        for _ in range(10):
            with ops.at_most(1 + number % 2), ops.model_threads(CPU):
                assert torch.get_num_threads() == 1

    before = _blas()
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(come_and_go, range(12)))
    assert _blas() == before
    assert torch.get_num_threads() == _in_a_new_thread(torch.get_num_threads) == 3


def test_a_limit_within_a_limit_ends_before_it(threads):
    threads(3)
    with ops.at_most(2):
        with ops.model_threads(CPU):
            assert torch.get_num_threads() == 1
            assert set(_blas()) <= {1}
        assert torch.get_num_threads() == 2
        assert set(_blas()) <= {2}
