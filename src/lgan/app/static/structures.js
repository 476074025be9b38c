// SMILES of a cell: SDF files hold mol blocks, which the editor's library reads.

export async function smilesOf(cell) {
  const text = String(cell);
  if (!text.includes("\n")) return text;
  const { Molecule } = await import("./vendor/openchemlib.js");
  return Molecule.fromMolfile(text).toIsomericSmiles();
}
