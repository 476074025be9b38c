"""`python -m lgan.cli` is `lgan`."""

from lgan.cli.app import main

if __name__ == "__main__":
    main()
