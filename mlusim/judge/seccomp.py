"""The system calls that a candidate's native code may not make, as a program for the kernel's filter (seccomp)."""

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence

# By machine: its audit(7) number, and its column in the rows below.
_MACHINES: Mapping[str, tuple[int, int]] = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_NONE = -1  # the machine has no such call
_NEWEST = 467  # greater numbers are unknown here, and are refused as if the kernel lacked the call
_THREAD = 0x10000  # CLONE_THREAD
# The number on x86_64 and on aarch64.
_REFUSED: Sequence[tuple[int, int]] = (
    # processes: fork, vfork
    (57, _NONE), (58, _NONE),
    # modes, owners, times, attributes and links of files, by path or descriptor; special files; watching them
    (90, _NONE), (91, 52), (268, 53), (452, 452), (92, _NONE), (93, 55), (94, _NONE), (260, 54),
    (132, _NONE), (235, _NONE), (261, _NONE), (280, 88),
    (188, 5), (189, 6), (190, 7), (191, 8), (192, 9), (193, 10), (194, 11), (195, 12), (196, 13), (197, 14), (198, 15), (199, 16),
    (463, 463), (464, 464), (465, 465), (466, 466), (86, _NONE), (265, 37), (133, _NONE), (259, 33), (303, 264), (304, 265),
    (253, _NONE), (294, 26), (254, 27), (300, 262), (301, 263),
    # other processes: ptrace, their memory, files and signals, their order and limits; the kernel's counters and programs
    (101, 117), (310, 270), (311, 271), (434, 434), (438, 438), (424, 424), (440, 440), (448, 448), (312, 272), (298, 241), (321, 280),
    (323, 282), (200, 130), (129, 138), (297, 240), (141, 140), (142, 118), (144, 119), (203, 122), (314, 274), (251, 30),
    (256, 238), (279, 239),
    # work that is queued around this filter: io_uring
    (425, 425), (426, 426), (427, 427),
    # what outlives a process, or is shared: System V's memory, semaphores and queues, POSIX's queues, keys
    (29, 194), (30, 196), (31, 195), (64, 190), (65, 193), (66, 191), (220, 192), (68, 186), (69, 189), (70, 188), (71, 187),
    (240, 180), (241, 181), (248, 217), (249, 218), (250, 219),
    # sockets: the simulator's socket is open already
    (53, 199), (41, 198), (42, 203), (43, 202), (49, 200), (50, 201), (288, 242),
    # the tree of files, namespaces, the machine
    (165, 40), (166, 39), (155, 41), (161, 51), (272, 97), (308, 268), (428, 428), (429, 429), (430, 430), (431, 431), (432, 432),
    (433, 433), (442, 442), (467, 467), (167, 224), (168, 225), (169, 142), (170, 161), (171, 162), (175, 105), (176, 106), (313, 273),
    (246, 104), (320, 294), (164, 170), (227, 112), (159, 171), (305, 266), (163, 89), (179, 60), (443, 443), (103, 116),
    (172, _NONE), (173, _NONE), (153, 58), (154, _NONE),
)  # fmt: skip
_CLONE, _CLONE3 = (56, 220), (435, 435)
_KILL, _TGKILL, _LIMITS = (62, 129), (234, 131), (302, 261)
_FCNTL, _IOCTL = (72, 25), (16, 29)
_OWNERS = (8, 10, 15, 1024, 1026)  # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY: signals to others
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
_CONTROLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_EQUAL, _ABOVE, _BITS, _LOAD, _LEAVE = 0x15, 0x25, 0x45, 0x20, 0x06  # instructions of BPF on words
_ALLOWED, _ERROR = 0x7FFF0000, 0x50000
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # of prctl(2)
_NUMBER, _MACHINE, _FIRST, _SECOND = (
    0,
    4,
    16,
    24,
)  # the offsets of a call's number, the machine, and the low words of the arguments

Instruction = tuple[int, int, int, int]


def filtered(process: int) -> bool:
    """Forbid the current process, *process*, and its threads the calls in the rows above; return whether the system permits that.

    The filter cannot be removed, and stays in force for programs that the process executes.
    """
    numbers = _MACHINES.get(platform.machine()) if sys.platform == "linux" else None
    if numbers is None:
        return False
    program = [*_program(process, *numbers)]
    words = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    text = ctypes.create_string_buffer(words, len(words))
    whole = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return bool(libc.prctl(_SECCOMP, _FILTER, whole, 0, 0) == 0)


def _program(process: int, machine: int, column: int) -> Iterator[Instruction]:
    refused, unknown, allowed = (
        (_LEAVE, 0, 0, n) for n in (_ERROR | errno.EPERM, _ERROR | errno.ENOSYS, _ALLOWED)
    )
    yield from ((_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, machine), refused)
    yield _LOAD, 0, 0, _NUMBER
    yield from (
        (_ABOVE, 0, 1, _NEWEST),
        unknown,
    )  # also those of x32, which has the same calls under other numbers
    yield from ((_EQUAL, 0, 1, _CLONE3[column]), unknown)  # the C library then uses clone
    for row in _REFUSED:
        if row[column] != _NONE:
            yield from ((_EQUAL, 0, 1, row[column]), refused)
    yield from (
        (_EQUAL, 0, 4, _CLONE[column]),
        (_LOAD, 0, 0, _FIRST),
        (_BITS, 1, 0, _THREAD),
        refused,
        allowed,
    )
    for call, legal in ((_KILL, (process,)), (_TGKILL, (process,)), (_LIMITS, (0, process))):
        yield from _only(call[column], _FIRST, legal, allowed, refused)
    yield from _only(_IOCTL[column], _SECOND, _CONTROLS, allowed, refused)
    yield from _only(_FCNTL[column], _SECOND, _OWNERS, refused, allowed)
    yield allowed


def _only(
    call: int, argument: int, values: Sequence[int], then: Instruction, otherwise: Instruction
) -> Iterator[Instruction]:
    """Yield the part for *call*: *then* if its *argument* is one of *values*, otherwise *otherwise*."""
    yield _EQUAL, 0, 2 * len(values) + 2, call
    yield _LOAD, 0, 0, argument
    for value in values:
        yield from ((_EQUAL, 0, 1, value), then)
    yield otherwise
