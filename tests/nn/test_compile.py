"""What `torch.compile` does with a model: it cuts at the kernels and recompiles once, for the
second shape.
"""

import pytest
import torch
from torch._dynamo.testing import CompileCounter

import lgan


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [False, True])
def test_a_compiled_model_is_not_compiled_again_for_every_batch_shape(training):
    union = lgan.load("triangles")
    model = lgan.LGAN(union.num_features, 8, 2, num_layers=2, residual=True).train(training)
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(model, backend=counter)
    frames = []
    for i in range(6):
        batch = union.batch(torch.arange(i, 12 + 5 * i))
        out = compiled(batch)
        if training:
            out.sum().backward()
        else:
            torch.testing.assert_close(out, model(batch))
        frames.append(counter.frame_count)
    torch._dynamo.reset()
    assert frames[1] == frames[-1], "a recompilation for every shape"
