"""The page of the driver's names, written from the toolkit's headers."""

import re
from collections.abc import Iterator, Mapping

from mlusim.bangc.prelude import DRIVER

HEAD = """# Names of the driver

Made from the toolkit's headers: every function that they declare, and what it does on the simulator.

Work is done when it is given to a queue; the clock of a queue is the predicted time of its launches, worked out when a notifier asks.
A call that goes wrong returns an error, which `cnrtGetLastError` has, too, and says one sentence on standard error with the line of the
call; `MLUSIM_ERRORS=stop` ends the program at the first with exit code 3.
Numbers of errors, attributes and types are those of the vendor's headers, cnrt 6.14 and cn_api 2.15; binaries of the vendor's compiler do not run.
`libcnbin.so`, `libcnml.so` and `libcnnl_extra.so` are there for programs that link them; nothing of them is declared.
"""
LIBRARIES: Mapping[str, str] = {
    "cnrt": "cnrt.h",
    "cndrv": "cn_api.h",
    "cndev": "cndev.h",
    "cnpapi": "cnpapi.h",
    "cnnl": "cnnl.h",
}
_SAME = "as its name says"
_NOTHING = "nothing is to be done; success"
_NO = "refused with a sentence: not simulated"
REMARKS: Mapping[str, str] = {
    r"cnrtInit|cnInit|cndevInit|cndevRelease|cnrtDestroy|cnCtxDestroy|cnSharedContextRelease|cnrtSetDeviceFlag|cnSetCtxConfigParam": _NOTHING,
    r"cnrtKernelParamsBufferMarkParam|cnrtInitKernelMemory|cnModuleUnload|cnpapiRelease|cnpapiUnsubscribe": _NOTHING,
    r"cnModuleLoad\w*": "device code that `cncc --bang-fatbin-only` or `--bang-cnbin-only` has written; what the vendor's compiler has is refused",
    r"cnModuleGetKernel": "by its mangled name, or its plain one where no other kernel of the module has it",
    r"cnpapi(Init|Subscribe|Enable\w+)|cndevGet(Temperature|Power)Info": _NO,
    r"cnrtMalloc(Constant|FrameBuffer)?|cnMalloc(Constant)?": "GDRAM, poisoned when it is first read; addresses are never used twice; 0 bytes are allowed",
    r"cnZmalloc": "GDRAM, zeros",
    r"cnrt(HostMalloc\w*|MallocHost)|cnMallocHost": "memory of the host, as any other: copies have no time",
    r"cnrtMemset\w*|cnMemset\w*": "at once",
    r"cnrtMemGetInfo|cnMemGetInfo|cndevGetMemoryUsage": "what this program has of the board's GDRAM",
    r"cnrtQueueSync|cnrtSyncQueue|cnrtSyncDevice|cnQueueSync|cnCtxSync|cnrtQueueQuery|cnQueryQueue": "waits for host functions of queues; returns the fault of a kernel, each time, and that a launch was refused, once",
    r"cnrt(Wait|Query)Notifier|cn(Wait|Query)Notifier": "says that the work before it is over, and not how it went: that a sync of the queue says",
    r"cnrtNotifierDuration|cnNotifierDuration": "the predicted time in us between two notifiers, of whatever queues",
    r"cnrtNotifierElapsedTime|cnNotifierElapsedTime": "the same in ms",
    r"cnrtQueueWaitNotifier\w*|cnQueueWaitNotifier": "the queue's clock goes on when the notifier is met",
    r"cnrtInvokeHostFunc|cnInvokeHostFunc": "called in order by a thread of its own; launches, copies and syncs wait for it",
    r"cnrtQueueCreateWithPriority|cnrtQueueGetPriority|cnrtDeviceGetQueuePriorityRange": "all queues have priority 0",
    r"cnrtMemcpy[23]D": "a copy for each row; widths, heights and pitches have the limits of the vendor's guide",
    r"cnrtMemcpy(To|From)Symbol\w*|cnrtGetSymbol(Address|Size)": "of `__mlu_device__` and `__mlu_const__` variables that a kernel of their file uses; of a `__mlu_const__` number with a value, if its file calls one of these",
    r"cnrtMemcpy\w*|cnMemcpy\w*": "at once, without bytes over the socket: both processes map the memory; sizes and sides are checked",
    r"cnrtAcquireMemHandle|cnIpcGetMemHandle": "of what cnrtMalloc gave; a handle holds as long as the process and the memory do; memory of the host is refused",
    r"cnrtMapMemHandle|cnIpcOpenMemHandle": "the same bytes at an address of this process's device; what is unwritten there, and what runs in no order with the other process, is not found",
    r"cnrtUnMapMemHandle|cnIpcCloseMemHandle": "the other process keeps its memory; who has mapped it keeps it, too, when that is freed",
    r"cn(rt)?Ipc(Get|Open)NotifierHandle": "met when all is done that its process has given to queues before, host functions too; not for the process itself",
    r"cnrtQueueBeginCapture": "from now on launches, copies, sets, notifiers and host functions of the queue are kept",
    r"cnrtQueueEndCapture": "gives what was kept",
    r"cnrtTaskTopoEntityInvoke": "does what was captured, in order",
    r"cnrtThreadExchangeQueueCaptureMode": "the mode of the thread, which nothing is forbidden by here",
    r"cnrtTaskTopoGetNodes": "how many pieces of work were kept; of a node nothing can be asked",
    r"cnrtQueueGetCaptureInfo": "the status and the number of the capture; its nodes are not shown",
    r"cnrtNotifierCreateWithFlags|cnCreateNotifier": "a time is refused where the flags say so; one between processes has none",
    r"cnrtInvokeKernel|cnInvokeKernel": "runs the kernel at once; what `<<<>>>` calls; a fault is the last error and that of every sync of the queue, which takes no more work then; a refused launch is the last error and that of one sync",
    r"cnrtInvokeKernel_V[23]": "an older launch; sizes of the parameters are checked",
    r"cnrtDeviceReset": "frees the device's memory",
    r"cnrtCastDataType\w*": "to nearest, ties to even; parameters of a quantisation are refused",
    r"cnGetCtxConfigParam": "every cluster of the board is seen",
    r"cnGetMemAttribute": "memory is not linear",
    r"cndevGetDDRInfo": "the bandwidth from which the simulator's efficiencies follow",
    r"cndevGetProcessInfo": "no other program has the card",
    r"cndevGetDeviceUtilizationInfo": "a card at rest",
    r"cndevGetVersionInfo|cnrtDriverGetVersion|cnGetDriverVersion": "a driver of 6.0.0",
    r"cnrtGetLibVersion|cnGetLibVersion": "6.99.0",
    r"__bangRegisterFunction": "what constructors of the compiled program call for each kernel; tools may hook it",
    r"__cudaPushCallConfiguration|cudaConfigureCall": "of clang's `<<<>>>`: keeps the grid, the task type and the queue",
    r"__mlusim_check": "of the macro CNRT_CHECK: says what failed, and ends the program with 1",
    # Special patterns come before general ones: the last pattern fits every name of cnnl.
    r"cnnlCreate\w*|cnnlDestroy\w*|cnnlSet\w*": "handles, descriptors and what is set in them",
    r"cnnlGet\w*WorkspaceSize\w*": "0: the stand-ins need no workspace",
    r"cnnlGet\w*": "one algorithm is found",
    r"cnnl\w+": "a stand-in in NumPy (decision 0023), which takes no time",
}  # fmt: skip
"""Remarks on functions whose names do not say it all; the first pattern that matches the whole name counts."""


def names(header: str) -> list[str]:
    """Return the functions that a header declares, in its order."""
    # Comments go first: a call in one looks like a declaration.
    text = re.sub(r"//.*", "", (DRIVER / header).read_text(encoding="utf-8"))
    # cnnl.h declares descriptors and calls by X macros, which the pattern for functions does not find.
    if header == "cnnl.h":
        kinds, calls = (
            re.findall(r"X\((\w+)\)", re.findall(rf"define {table}\(X\)(.*?)\n(?! )", text, re.DOTALL)[0])
            for table in ("MLUSIM_CNNL_DESCRIPTORS", "MLUSIM_CNNL_CALLS")
        )
        declared = re.findall(r"\bcnnlStatus_t (cnnl\w+)\(", text)
        return [
            # The last match is the pattern inside the macro, not a name.
            *declared[:-1],
            *(f"cnnl{verb}{kind}" for kind in kinds for verb in ("Create", "Destroy")),
            *(f"cnnl{c}" for c in calls),
        ]
    functions = re.findall(r"^(?!typedef)\S[^;{}#]*?\b((?:__)?[a-z]\w+)\([^;{}]*\);", text, re.MULTILINE)
    return list(dict.fromkeys(functions))


def remark(name: str) -> str:
    """Return the remark about *name* on the simulator."""
    return next((said for pattern, said in REMARKS.items() if re.fullmatch(pattern, name)), _SAME)


def manual() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *(line for library in LIBRARIES for line in _library(library))])


def _library(library: str) -> Iterator[str]:
    yield f"## {library}\n"
    yield f"`lib{library}.so`, `{LIBRARIES[library]}`.\n"
    yield "| name | here |"
    yield "| --- | --- |"
    yield from (f"| `{name}` | {remark(name)} |" for name in names(LIBRARIES[library]))
    yield ""
