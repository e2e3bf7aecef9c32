"""In-memory stand-ins for everything the operations need from the world, held to the same contract tests."""
