"""Which edges a correct explanation must name."""

import torch
from torch import Tensor

from lgan.explain.atoms import MOLECULES


def nitro_and_amino(atoms: Tensor, pair_index: Tensor) -> Tensor:
    """Whether each bond lies in an NO₂ or NH₂ group, ``[P]`` bool.

    The groups that make a molecule mutagenic in the explanation literature (Debnath et al., 1991;
    Ying et al., 2019; Luo et al., 2020), found by atoms and bonds alone: a nitrogen with exactly
    two oxygens that have no other neighbour (NO₂), or with exactly two hydrogens (NH₂). The bonds
    between the nitrogen and these two atoms are the ground truth, two for each group.

    Args:
        atoms: Label of every atom, as Mutagenicity has them ``[n]``.
        pair_index: Every bond once ``[2, P]``, hydrogens included.

    Example:
        >>> nitro = torch.tensor([4, 1, 1, 0])  # N, O, O, C
        >>> nitro_and_amino(nitro, torch.tensor([[0, 0, 0], [1, 2, 3]])).tolist()
        [True, True, False]
    """
    code = {name: label for label, name in enumerate(MOLECULES["Mutagenicity"].atoms)}
    num_atoms = atoms.numel()
    pairs = pair_index.long()
    both = torch.cat([pairs, pairs.flip(0)], 1)  # every bond from both ends
    centre, leaf = both
    degree = torch.bincount(centre, minlength=num_atoms)
    bond = torch.arange(pairs.size(1), device=pairs.device).repeat(2)
    truth = torch.zeros(pairs.size(1), dtype=torch.bool, device=pairs.device)
    for element in ("O", "H"):
        hangs = (atoms[centre] == code["N"]) & (atoms[leaf] == code[element]) & (degree[leaf] == 1)
        count = torch.bincount(centre[hangs], minlength=num_atoms)
        truth[bond[hangs & (count[centre] == 2)]] = True
    return truth
