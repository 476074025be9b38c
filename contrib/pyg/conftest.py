"""Put the contribution into the installed PyG, as its two lines of imports will."""

from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
for package, file, name in (
    ("torch_geometric.nn.conv", "lgan_conv", "LGANConv"),
    ("torch_geometric.transforms", "ego_line_graph", "EgoLineGraph"),
):
    home = import_module(package)
    home.__path__.append(str(HERE.joinpath(*package.split("."))))
    found = getattr(import_module(f"{package}.{file}"), name)
    setattr(home, name, found)
    if package.startswith("torch_geometric.nn"):
        setattr(import_module("torch_geometric.nn"), name, found)
