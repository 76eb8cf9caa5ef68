"""The helper library of the vendor's kernels: functions that take ``mlu`` and call intrinsics.

``__mluop_div(dst, a, b, ...)`` is ``mluop_div(mlu, dst, a, b, ...)``. A helper is code, not an instruction:
its instructions are counted, timed and checked like the kernel's own, at the line of the kernel's call.
"""
