"""`python -m storagekit.reproduce` is `storagekit`."""

from storagekit.reproduce.cli import main

main()
