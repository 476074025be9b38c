# %% [markdown]
# # Expressiveness: which graphs can be told apart?
#
# A hexagon and two triangles have the same degrees everywhere. A plain graph network gives both
# the same output, whatever its weights.

# %%
import networkx as nx

import lgan
from lgan import wl
from lgan.graph.named import named_graph

hexagon = nx.cycle_graph(6)
triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
for test in ("1-wl", "2-wl", "lgan", "2-fwl"):
    print(f"{test:6}", wl.distinguishes(hexagon, triangles, test=test))

# %% [markdown]
# ## Networks are held to their tests
#
# Random weights in double precision: what differs, differs.

# %%
transform = lgan.EgoLineGraph()
pair = [(hexagon, triangles)]
for name, model in {
    "GIN": lgan.zoo.GIN(1, 16, 2),
    "LGAN": lgan.LGAN(1, 16, 2),
}.items():
    found = wl.check(model, pair, transform=transform)
    print(f"{name:5} separates {found.num_separated} of 1")

# %% [markdown]
# ## What LGAN cannot do
#
# Two molecules without triangles: decalin and bicyclopentyl. LGAN is exactly 1-WL there. Counts
# of rings on the pairs tell them apart.

# %%
decalin, bicyclopentyl = named_graph("decalin"), named_graph("bicyclopentyl")
for test in ("1-wl", "lgan-res", "code-rings"):
    print(f"{test:10}", wl.distinguishes(decalin, bicyclopentyl, test=test))

# %% [markdown]
# ## All small graphs
#
# How many different graphs on six nodes does a test find?

# %%
graphs = [g for g in nx.graph_atlas_g() if len(g) == 6 and nx.is_connected(g)]
for test in ("1-wl", "lgan", "2-fwl"):
    print(f"{test:6} {wl.refine(graphs, test=test).num_classes} of {len(graphs)}")
