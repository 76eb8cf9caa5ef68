"""Whatever is typed: one sentence or an answer, and looking changes nothing."""

from debug_kernels import scale_program, staged_program
from debug_tools import console_on
from hypothesis import given, settings, strategies as st

from mlusim.debug import COMMANDS
from mlusim.debug.console.command import LOOKING, MEMORY

TYPED = """
0 1 2 7 -1 99 x 0x10 all if == task 0m 1m begin end @3 @begin @9:9 : :3 3: /4f /x /9z [ ] [2:4] [9:2] [-1]
data out buffer own shared mine factor count mlu mlu.taskId scale scaled staged bang_add pipe vector moment cycle
finding memcheck racecheck-florp nram nram+0x8 nram-8 sram+0:4 gdram 0x200000 0x7:9 ignore scaled: out[3:5] own[7]
debug_kernels.py:30 debug_kernels.py:9999 tasks regions pipes barriers locals printed # é () {} '
"""
WORDS = st.sampled_from(TYPED.split())
LINES = st.builds(
    lambda name, words: f"{name} {' '.join(words)}",
    st.sampled_from(
        [word for c in COMMANDS for word in (c.name, *c.aliases) if c.name not in ("quit", "record", "replay", "dump", "source")]
    ),
    st.lists(WORDS, max_size=4),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=12), st.sampled_from([scale_program, staged_program]))
def test_every_line_has_an_answer(lines, program):
    """Nothing raises; a mistake is one sentence; the session goes on and can be run to its end."""
    with console_on(program) as console:
        for text in ["start", *lines]:
            reply = console.execute(text)
            assert reply.ok or (reply.text.startswith("error: ") and "\n" not in reply.text), text
            console.complete(text)
        assert console.execute("delete").ok
        if not console.session.ended:
            assert console.execute("c").ok
        assert "the program has ended" in console.stop_text() or not console.session.position.at_end


LOOKS = [
    c.name
    for c in COMMANDS
    if c.group in (LOOKING, MEMORY) and c.name not in ("dump", "task", "up", "down", "frame")
]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40), st.lists(st.tuples(st.sampled_from(LOOKS), st.lists(WORDS, max_size=3)), max_size=8)
)
def test_looking_changes_nothing(moment, looks):
    """Whatever is shown, evaluated or searched for: same place, same bytes, same counts, same frames."""
    with console_on(staged_program) as console:
        console.execute(f"goto {moment}")
        before = console.session.position, console.session.digest(), console.session.focus
        for name, words in looks:
            console.execute(f"{name} {' '.join(words)}")

        assert before == (console.session.position, console.session.digest(), console.session.focus)
