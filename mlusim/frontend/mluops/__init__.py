"""The helper library of the vendor's kernels: functions of ``mlu`` made of intrinsics.

``__mluop_div(dst, a, b, ...)`` is ``mluop_div(mlu, dst, a, b, ...)``.  A helper is code, not an
instruction: what it executes is counted, timed and checked like the kernel's own, at the kernel's line.
"""
