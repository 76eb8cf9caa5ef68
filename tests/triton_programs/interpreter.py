"""Triton's own interpreter, a program: calls of kernels come in, their arrays as they are afterwards go out.

``TRITON_INTERPRET`` has to be set before Triton is imported, and a process that has it compiles nothing.
"""

import pickle
import sys
import warnings

import language_kernels
import numpy as np
import torch
import triton_kernels


def serve(calls, answers):
    """Answer *calls*, each a kernel's name, grid, arguments and constants, until there are no more."""
    while True:
        try:
            kernel, grid, arguments, named = pickle.load(calls)
        except EOFError:
            return
        given = [torch.from_numpy(one) if isinstance(one, np.ndarray) else one for one in arguments]
        module = language_kernels if hasattr(language_kernels, kernel) else triton_kernels
        getattr(module, kernel)[grid](*given, **named)
        pickle.dump([one.numpy() for one in given if isinstance(one, torch.Tensor)], answers)
        answers.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(sys.stdin.buffer, sys.stdout.buffer)
