"""The contract of every port: one set of tests, run against the fake, moto and MiniStack."""
