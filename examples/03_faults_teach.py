"""The error of a wrong kernel: one sentence with the place, the legal range and what to do."""

import numpy as np

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, half, kernel
from mlusim.errors import MlusimError

device = mlusim.Device("MLU370-X4")
tensor = device.put(np.zeros(100, np.float32))


@kernel
def one_past(mlu, g):
    a = mlu.nram(float32, 100)
    mlu.memcpy(a, g + 1, 400, GDRAM2NRAM)


@kernel
def wrong_token(mlu, g):
    a = mlu.nram(float32, 100)
    mlu.memcpy(a, g, 400, NRAM2GDRAM)


@kernel
def mixed_types(mlu, _):
    mlu.bang_add(mlu.nram(float32, 8), mlu.nram(float32, 8), mlu.nram(half, 8), 8)


@kernel
def too_much(mlu, _):
    mlu.nram(float32, 163841)


@kernel
def count_not_minus_one(mlu, g):
    a = mlu.nram(float32, 100)
    mlu.memcpy(a, g, 4, GDRAM2NRAM, 4, 4, -1)


for kernel_ in (one_past, wrong_token, mixed_types, too_much, count_not_minus_one):
    try:
        device.launch(kernel_, args=(tensor,))
    except MlusimError as error:
        place = f"{error.file}:"
        print(f"{type(error).__name__}: {str(error).replace(place, '03_faults_teach.py:')}\n")
