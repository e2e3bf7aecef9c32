"""The agents this repository ships. A deployer's own package sits beside this one and has no fewer rights."""
