"""One kernel on many boards: what each board offers, and on which a declaration is too large."""

import mlusim
from mlusim.bang import float32, kernel
from mlusim.errors import OutOfMemory


@kernel
def takes(mlu, floats):
    mlu.nram(float32, floats)


for name in ("MLU370-X4", "MLU370-S4", "MLU590-H8", "MLU270-S4", "MLU290-M5"):
    device = mlusim.Device(name)
    board = device.board
    verdict = "fits"
    try:
        device.launch(takes, args=(120_000,))
    except OutOfMemory as fault:
        verdict = fault.message
    print(
        f"{name}: {board.clusters} clusters, {board.cores} cores, {board.io_bandwidth_gbs:g} GB/s, "
        f"NRAM {board.arch.max_nram // 4} floats; 120000 floats: {verdict}"
    )
