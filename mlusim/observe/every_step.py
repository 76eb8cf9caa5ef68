"""`EveryStep`: asks launches to keep every instruction, for traces and for the time of each line."""

from mlusim.machine.hub import Observer


class EveryStep(Observer):
    """Has every launch that it watches keep its instructions: ``launch.timeline`` and ``launch.lines`` name them.

    It hears of nothing itself, so instructions are not announced on its account.
    """

    name = "every step"
    every_step = True
