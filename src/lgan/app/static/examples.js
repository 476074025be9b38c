// Molecules by name, to begin with.

export const EXAMPLES = [
  ["aspirin", "CC(=O)Oc1ccccc1C(=O)O"],
  ["benzene", "c1ccccc1"],
  ["caffeine", "Cn1c(=O)c2c(ncn2C)n(C)c1=O"],
  ["diazepam", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21"],
  ["dopamine", "NCCc1ccc(O)c(O)c1"],
  ["ethanol", "CCO"],
  ["glucose", "OC[C@H]1OC(O)[C@H](O)[C@@H](O)[C@@H]1O"],
  ["ibuprofen", "CC(C)Cc1ccc(cc1)C(C)C(=O)O"],
  ["nicotine", "CN1CCC[C@H]1c1cccnc1"],
  ["nitrobenzene", "O=[N+]([O-])c1ccccc1"],
  ["paracetamol", "CC(=O)Nc1ccc(O)cc1"],
  ["penicillin G", "CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O"],
  ["testosterone", "C[C@]12CC[C@H]3[C@@H](CCC4=CC(=O)CC[C@]34C)[C@@H]1CC[C@@H]2O"],
  ["TNT", "Cc1c(cc(cc1[N+](=O)[O-])[N+](=O)[O-])[N+](=O)[O-]"],
];
