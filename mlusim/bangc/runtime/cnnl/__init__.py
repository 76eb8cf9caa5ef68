"""Stand-ins in NumPy for functions of the closed library (``cnnl...``) that the public library's host code calls.

The closed library has no public source, so the results follow the definitions in its manual [I]. Stand-ins
take no device time and are not launches.
"""
