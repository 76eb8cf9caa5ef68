"""The board that the harness runs on, and the checkers that watch."""

BOARD = "MLU590-H8"
CHECKERS = ("memcheck", "initcheck", "racecheck", "synccheck", "valuecheck")
