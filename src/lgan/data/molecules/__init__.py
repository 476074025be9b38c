"""Molecules: from SMILES to graphs, and what is known of them as wholes."""
