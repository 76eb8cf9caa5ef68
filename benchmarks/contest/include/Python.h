// What the initialisers of some files ask of Python, which is not there.
#pragma once
#include <pybind11/pybind11.h>
