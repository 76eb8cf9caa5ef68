// The Python functions of an extension, without pybind11 in its own code: the device's library has that, for the types below.
#pragma once
#include <torch/types.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

struct _object;
typedef struct _object PyObject;

namespace mlusim_torch {
using TwoTensors = std::tuple<at::Tensor, at::Tensor>;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
#define MLUSIM_BOUND_TYPES(X)                                                                                           \
  X(at::Tensor) X(double) X(float) X(int) X(unsigned) X(int64_t) X(uint64_t) X(bool) X(std::string) X(std::vector<at::Tensor>) \
  X(std::vector<int64_t>) X(std::vector<double>) X(std::optional<at::Tensor>) X(std::optional<double>) X(std::optional<int64_t>) \
  X(TwoTensors) X(ThreeTensors)

template <class T> constexpr bool is_bound = false;
#define MLUSIM_IS_BOUND(T) template <> inline constexpr bool is_bound<T> = true;
MLUSIM_BOUND_TYPES(MLUSIM_IS_BOUND)

// One function for Python: *call* takes *count* arguments.
struct Bound {
  const char *name;
  std::vector<std::string> parameters;
  const char *text;
  size_t count;
  PyObject *(*call)(PyObject *const *given, const Bound &function);
};
PyObject *module(const char *name, const std::vector<Bound> &functions);
template <class T> void take(PyObject *given, T &value, const Bound &function, size_t at);  // throws if it has another type
template <class T> PyObject *returned(const T &value);
PyObject *nothing();

template <auto function> struct Caller;
template <class R, class... A, R (*function)(A...)> struct Caller<function> {
  static_assert((is_bound<std::decay_t<A>> && ...), "a parameter is of a type that needs pybind11");
  static_assert(std::is_void_v<R> || is_bound<std::decay_t<R>>, "the result is of a type that needs pybind11");

  static PyObject *call(PyObject *const *given, const Bound &bound) { return call(given, bound, std::index_sequence_for<A...>()); }
  template <size_t... I> static PyObject *call([[maybe_unused]] PyObject *const *given, [[maybe_unused]] const Bound &bound, std::index_sequence<I...>) {
    std::tuple<std::decay_t<A>...> values;
    (take(given[I], std::get<I>(values), bound, I), ...);
    if constexpr (std::is_void_v<R>) {
      function(static_cast<A &&>(std::get<I>(values))...);
      return nothing();
    } else {
      return returned<std::decay_t<R>>(function(static_cast<A &&>(std::get<I>(values))...));
    }
  }
  static constexpr size_t count = sizeof...(A);
};

template <auto function> Bound bound(const char *name, std::vector<std::string> parameters, const char *text) {
  return {name, std::move(parameters), text, Caller<function>::count, &Caller<function>::call};
}
}  // namespace mlusim_torch

#define MLUSIM_INIT_(name) PyInit_##name
#define MLUSIM_INIT(name) MLUSIM_INIT_(name)
#define MLUSIM_TEXT_(name) #name
#define MLUSIM_TEXT(name) MLUSIM_TEXT_(name)
#define MLUSIM_MODULE(...)                                                                           \
  extern "C" __attribute__((visibility("default"))) PyObject *MLUSIM_INIT(TORCH_EXTENSION_NAME)() { \
    return mlusim_torch::module(MLUSIM_TEXT(TORCH_EXTENSION_NAME), {__VA_ARGS__});                   \
  }
