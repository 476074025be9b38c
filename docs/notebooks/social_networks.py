# %% [markdown]
# # Social networks: dense graphs made small
#
# In networks of people who work together, everybody in one project knows everybody else. Such
# people are twins, and twins can be merged without changing any result. The networks here are
# generated: projects of a few people each, and a few who link them.

# %%
import networkx as nx
import numpy as np

import lgan


def network(rng, projects):
    """Cliques of four to eight people around one who is in all of them."""
    graph = nx.Graph()
    for _ in range(projects):
        people = [0, *range(len(graph) + 1, len(graph) + rng.integers(5, 9))]
        graph.add_edges_from((a, b) for a in people for b in people if a < b)
    return graph


rng = np.random.default_rng(0)
kinds = ["few projects"] * 30 + ["many projects"] * 30
graphs = [network(rng, rng.integers(2, 4) if k < 30 else rng.integers(4, 7)) for k in range(60)]
union = lgan.load(graphs, targets={"kind": kinds})
edges, merged = sum(g.number_of_edges() for g in graphs), union.lines.num_pairs
print(f"{edges} edges, {merged} after merging twins")

# %% [markdown]
# ## Cross-validate
#
# Five folds train side by side. The rule `fair` chooses the epoch inside the training part.

# %%
result = lgan.cross_validate(
    lambda: lgan.LGAN(union.num_features, 16, 2, residual=True),
    union,
    folds=5,
    fair=True,
    config=lgan.TrainConfig(epochs=30, iterations=0),
)
for rule in ("gin", "fair"):
    chosen = result.selected(rule)
    print(f"{rule:5} {chosen.mean:.3f} ± {chosen.std:.3f}")

# %% [markdown]
# The same with GIN, on the same folds. GIN reads graphs as they are, so that twins stay apart.
# This task is easy for both: the number of people says much.

# %%
plain = lgan.load(graphs, targets={"kind": kinds}, compress=False)
gin = lgan.cross_validate(
    lambda: lgan.zoo.GIN(plain.num_features, 16, 2),
    plain,
    folds=5,
    fair=True,
    config=lgan.TrainConfig(epochs=30, iterations=0),
)
print(f"fair  {gin.selected('fair').mean:.3f}")
