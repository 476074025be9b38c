"""``python -m lgan``, which launchers such as torchrun start."""

from lgan.cli import main

if __name__ == "__main__":
    main()
