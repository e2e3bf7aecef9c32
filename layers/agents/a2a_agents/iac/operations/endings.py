"""How a step of a turn ends the turn, from wherever it is."""

from a2a_serverless.agent import Outcome


class Ends(Exception):
    """The turn ends here, so."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(type(outcome).__name__)
        self.outcome = outcome
