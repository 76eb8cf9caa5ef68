// The namespace, and an interpreter that is never there: what needs Python does not build as a program of its own.
#pragma once

using PyGILState_STATE = int;
inline int Py_IsInitialized() { return 0; }
inline PyGILState_STATE PyGILState_Ensure() { return 0; }
inline void PyGILState_Release(PyGILState_STATE) {}
inline int PyRun_SimpleString(const char *) { return -1; }

namespace pybind11 {
struct gil_scoped_acquire {
  gil_scoped_acquire() {}
};
struct gil_scoped_release {
  gil_scoped_release() {}
};
}  // namespace pybind11
