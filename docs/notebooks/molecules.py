# %% [markdown]
# # Molecules, from SMILES to reasons
#
# A small table of molecules, a model of two members, and the question which group made it decide.
# Two members and twenty epochs keep this page quick; leave both out for data of your own.

# %%
import pandas as pd
from sklearn.metrics import roc_auc_score

import lgan

table = pd.read_csv("examples/molecules.csv").dropna()
table.groupby("nitro").size()

# %% [markdown]
# Hold out the rare scaffolds: their ring systems are not in the training part.

# %%
scaffold = pd.Series(lgan.scaffolds(table["smiles"]), index=table.index)
rare = scaffold.map(scaffold.value_counts()) < 5
train, test = table[~rare], table[rare]
len(train), len(test)

# %%
model = lgan.LGANClassifier(members=2, epochs=20, random_state=0)
model.fit(train["smiles"], train["nitro"])
probability = model.predict_proba(test["smiles"])[:, 1]
round(roc_auc_score(test["nitro"] == "yes", probability), 3)

# %% [markdown]
# ## How sure is it?
#
# A set with one class is a clear case. With two the model does not decide.

# %%
sets = model.predict_set(test["smiles"], alpha=0.2)
pd.DataFrame(sets, columns=model.classes_, index=test["smiles"]).head()

# %% [markdown]
# ## Why?
#
# Scores of the groups of one molecule. They add up, with all other parts, to what the model says.

# %%
why = model.explain("O=[N+]([O-])c1ccc(O)cc1")
parts = why.to_dataframe()
parts[parts["kind"] == "fragment"][["name", "score"]].sort_values("score", ascending=False)
