"""Stand-ins in NumPy for the calls of the closed library (``cnnl...``) that host functions of the public one make.

The library has no public source: what they compute follows from its manual's definitions [I].  They take no time on
the device, and are not launches.
"""
