"""`python -m a2a_serverless.cli`: the command where no script was installed for it."""

from a2a_serverless.cli.main import main

if __name__ == "__main__":
    main()
