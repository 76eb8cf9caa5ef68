"""Kernels of the vendor's public library on this machine: parsed, translated, run against references written here.

``python -m benchmarks.vendor CHECKOUT`` takes the path of a checkout of Cambricon/mlu-ops (revision 73adc65 is what the
references were written for) and prints one table.  Nothing of that repository is stored here.
"""
