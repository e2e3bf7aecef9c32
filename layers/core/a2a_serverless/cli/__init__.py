"""The `a2a-serverless` command.

A command is declared in a file of its group (`push`), which loads nothing but the library that reads the
command line; what a command does stands in files of its own and is loaded when it runs. Whatever goes wrong
becomes one line and an exit status in `commands`. Nothing here speaks to AWS: `operating` asks the wiring for
a deployment, `connecting` the client for an agent. Options read the environment, and `configuration` does.
"""
