"""``python -m mlusim.toolkit.server SOCKET MEMORY PROTOCOL``: the simulator for the program at the other end of a socket."""

import os
import select
import signal
import socket
import sys
import threading

from mlusim.arch.catalog import named_boards
from mlusim.errors import MlusimError
from mlusim.toolkit.server.program_server import ProgramServer
from mlusim.toolkit.server.protocol import VERSION, ProgramSocket

USAGE = 2  # the exit code for a program that is refused
BOARD, ENGINE = "MLUSIM_BOARD", "MLUSIM_ENGINE"
UNCARED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)  # sent to the program, and ignored here


def leave_with(end: socket.socket) -> None:
    """End this process when the other end of the socket is closed, even if it is busy."""
    poll = select.poll()
    poll.register(end, 0)
    while not any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
        pass
    engines = sys.modules.get("mlusim.machine.engine")  # only if something was launched
    if engines is not None:
        engines.Engine.abandon()
    os._exit(0)


def main(argv: list[str]) -> int:
    """Serve requests until the program ends; refuse a driver library with another version of the protocol."""
    if argv[3:] != [VERSION]:
        sys.stderr.write(
            "error: the driver library of this program was made by another version of mlusim; "
            "make the toolkit folder again with `mlusim toolkit`\n"
        )
        return USAGE
    for number in UNCARED:
        signal.signal(number, signal.SIG_IGN)
    end, memory = socket.socket(fileno=int(argv[1])), int(argv[2])
    threading.Thread(target=leave_with, args=(end,), daemon=True).start()
    pid = int.from_bytes(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
    try:
        boards = named_boards(os.environ.get(BOARD, "MLU370-X4"))
        server = ProgramServer(boards, memory, pid, {"engine": os.environ.get(ENGINE) or "auto"})
    except MlusimError as error:
        sys.stderr.write(f"error: {error}\n")
        return USAGE
    connection = ProgramSocket(end)
    while (request := connection.receive()) is not None:
        connection.answer(server.handle(request))
    return 0


if __name__ == "__main__":
    os._exit(main(sys.argv))  # no cleanup is needed, and the program waits for the end
