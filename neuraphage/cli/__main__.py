"""`python -m neuraphage.cli`, for a process that another one of ours starts."""

from neuraphage.cli.entry import main

if __name__ == "__main__":
    main()
