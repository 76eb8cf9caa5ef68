// Python functions of extensions: pybind11's conversions, compiled here once.
#include "device.h"

#include <mlusim_torch_binding.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

namespace mlusim_torch {
namespace {

void name_one(const std::string &name, const at::Tensor &tensor) { describe(tensor, name); }
void name_one(const std::string &name, const std::vector<at::Tensor> &all) {
  for (size_t i = 0; i < all.size(); ++i) describe(all[i], name + "[" + std::to_string(i) + "]");
}
void name_one(const std::string &name, const std::optional<at::Tensor> &maybe) {
  if (maybe) describe(*maybe, name);
}
template <class T> void name_one(const std::string &, const T &) {}

// Return the second of the two forms in which pybind11 writes a type, "@accepted type@returned type@".
std::string plain_type(const std::string &text) {
  std::string found;
  size_t part = 0;
  for (char letter : text) {
    if (letter == '@') part = (part + 1) % 3;
    else if (part != 1) found += letter;
  }
  return found;
}

pybind11::object call(const Bound &function, const pybind11::args &given) {
  if (given.size() != function.count)
    throw pybind11::type_error(std::string(function.name) + " takes " + std::to_string(function.count) + " argument" + (function.count == 1 ? "" : "s") + ", and " +
                               std::to_string(given.size()) + (given.size() == 1 ? " is" : " are") + " given");
  HANDLE_TH_ERRORS
  try {
    std::vector<PyObject *> values;
    for (pybind11::handle one : given) values.push_back(one.ptr());
    return pybind11::reinterpret_steal<pybind11::object>(function.call(values.data(), function));
  } catch (const std::exception &) {
    throw;
  } catch (...) {
    throw std::runtime_error(std::string(function.name) + " throws something that is not std::exception");
  }
  END_HANDLE_TH_ERRORS_PYBIND
}

}  // namespace

PyObject *module(const char *name, const std::vector<Bound> &functions) {
  auto m = pybind11::module_::create_extension_module(name, nullptr, new PyModuleDef());
  for (const Bound &one : functions) m.def(one.name, [one](const pybind11::args &given) { return call(one, given); }, one.text);
  return m.release().ptr();
}

template <class T> void take(PyObject *given, T &value, const Bound &function, size_t at) {
  pybind11::detail::make_caster<T> caster;
  const std::string name = at < function.parameters.size() ? function.parameters[at] : "";
  if (!caster.load(given, true))
    throw pybind11::type_error(std::string(function.name) + ": argument " + std::to_string(at + 1) + (name.empty() ? "" : " (" + name + ")") + " is " + Py_TYPE(given)->tp_name +
                               ", where " + plain_type(decltype(caster)::name.text) + " is expected");
  value = pybind11::detail::cast_op<T>(std::move(caster));
  if (function.parameters.size() == function.count) name_one(name, value);
}

template <class T> PyObject *returned(const T &value) { return pybind11::cast(value).release().ptr(); }
PyObject *nothing() { return pybind11::none().release().ptr(); }

#define MLUSIM_COMPILED(T)                                                                \
  template void take<T>(PyObject *given, T &value, const Bound &function, size_t at); \
  template PyObject *returned<T>(const T &value);
MLUSIM_BOUND_TYPES(MLUSIM_COMPILED)

}  // namespace mlusim_torch
