"""`python -m noisyor` is the command `noisyor`."""

from noisyor.cli import main

main()
