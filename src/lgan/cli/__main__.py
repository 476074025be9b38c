"""`python -m lgan.cli` is `lgan`."""

from lgan.cli import main

if __name__ == "__main__":
    main()
