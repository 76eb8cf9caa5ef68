// What the host parts of contest kernels use of PyTorch's C++ interface, over device memory of the runtime: enough
// to build one as a program of its own, in a second and without PyTorch.
#pragma once
#include <cnrt.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace c10 {
struct Half {
  uint16_t x = 0;
  Half() = default;
  Half(float value) {
    const _Float16 narrow = static_cast<_Float16>(value);
    std::memcpy(&x, &narrow, sizeof x);
  }
  operator float() const {
    _Float16 narrow;
    std::memcpy(&narrow, &x, sizeof x);
    return narrow;
  }
};
struct BFloat16 {
  uint16_t x;
};

enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool = 11, BFloat16 = 15 };

inline size_t elementSize(ScalarType type) {
  switch (type) {
    case ScalarType::Byte: case ScalarType::Char: case ScalarType::Bool: return 1;
    case ScalarType::Short: case ScalarType::Half: case ScalarType::BFloat16: return 2;
    case ScalarType::Int: case ScalarType::Float: return 4;
    default: return 8;
  }
}

enum class DeviceType : int8_t { CPU, PrivateUse1 = 20 };

struct Device {
  DeviceType kind;
  int8_t at;
  Device(DeviceType type, int index = -1) : kind(type), at(static_cast<int8_t>(index)) {}
  bool is_cpu() const { return kind == DeviceType::CPU; }
  bool is_privateuseone() const { return kind == DeviceType::PrivateUse1; }
  DeviceType type() const { return kind; }
  int8_t index() const { return at; }
  bool operator==(const Device &other) const { return kind == other.kind; }
  bool operator!=(const Device &other) const { return kind != other.kind; }
};

// Sizes, from a list, a vector or a pointer and a number.
class IntArrayRef {
  std::vector<int64_t> held;

 public:
  IntArrayRef() = default;
  IntArrayRef(std::initializer_list<int64_t> list) : held(list) {}
  IntArrayRef(const std::vector<int64_t> &list) : held(list) {}
  IntArrayRef(const int64_t *list, size_t n) : held(list, list + n) {}
  size_t size() const { return held.size(); }
  int64_t operator[](size_t i) const { return held[i]; }
  std::vector<int64_t> vec() const { return held; }
  const int64_t *begin() const { return held.data(); }
  const int64_t *end() const { return held.data() + held.size(); }
  bool operator==(const IntArrayRef &other) const { return held == other.held; }
  bool operator!=(const IntArrayRef &other) const { return held != other.held; }
};

struct TensorOptions {
  ScalarType type = ScalarType::Float;
  Device place = DeviceType::CPU;
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type(t) {}
  TensorOptions(Device d) : place(d) {}
  TensorOptions dtype(ScalarType t) const {
    TensorOptions copy = *this;
    copy.type = t;
    return copy;
  }
  TensorOptions device(Device d) const {
    TensorOptions copy = *this;
    copy.place = d;
    return copy;
  }
  TensorOptions device(DeviceType d, int index = -1) const { return device(Device(d, index)); }
  TensorOptions requires_grad(bool) const { return *this; }
};

// A storage on one device; `owned` keeps it.
struct TensorImpl {
  std::shared_ptr<void> owned;
  std::vector<int64_t> sizes;
  TensorOptions options;
  std::vector<int64_t> strides{};  // none where it is contiguous
  void set_sizes_and_strides(IntArrayRef all, IntArrayRef steps) {
    sizes = all.vec();
    strides = steps.vec();
  }
  void set_storage_offset(int64_t offset) {
    if (offset) throw std::runtime_error("an offset in the storage is not here");
  }
  void *mutable_data() const { return owned.get(); }
  const void *data() const { return owned.get(); }
};

namespace impl {
struct DeviceGuardImplInterface {
  int deviceCount() const { return 1; }
  Device getDevice() const { return Device(DeviceType::PrivateUse1, 0); }
  void setDevice(Device) const {}
  void synchronizeDevice(int) const { cnrtSyncDevice(); }
};
inline bool hasDeviceGuardImpl(DeviceType type) { return type == DeviceType::PrivateUse1; }
inline const DeviceGuardImplInterface *getDeviceGuardImpl(DeviceType) {
  static DeviceGuardImplInterface one;
  return &one;
}
}  // namespace impl

template <class... Words>
[[noreturn]] inline void refuse(const char *file, int line, const Words &...words) {
  std::ostringstream said;
  said << file << ":" << line << ": ";
  (said << ... << words);
  throw std::runtime_error(said.str());
}
}  // namespace c10

#define TORCH_CHECK(holds, ...) \
  do { \
    if (!(holds)) c10::refuse(__FILE__, __LINE__, "" __VA_ARGS__); \
  } while (0)
#define TORCH_INTERNAL_ASSERT(holds, ...) TORCH_CHECK(holds)

namespace at {
using c10::BFloat16;
using c10::Device;
using c10::DeviceType;
using c10::Half;
using c10::IntArrayRef;
using c10::ScalarType;
using c10::TensorOptions;

class Tensor {
  std::shared_ptr<c10::TensorImpl> impl;

  static int64_t product(const std::vector<int64_t> &sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<int64_t>());
  }

 public:
  Tensor() = default;
  Tensor(IntArrayRef sizes, TensorOptions options, bool zero = false) : impl(new c10::TensorImpl{nullptr, sizes.vec(), options}) {
    const size_t bytes = nbytes() ? nbytes() : 1;
    if (options.place.is_cpu()) {
      impl->owned.reset(std::calloc(bytes, 1), std::free);
      return;
    }
    void *held = nullptr;
    if (cnrtMalloc(&held, bytes) != cnrtSuccess) c10::refuse(__FILE__, __LINE__, "no device memory for ", bytes, " bytes");
    impl->owned.reset(held, [](void *memory) { cnrtFree(memory); });
    if (zero) cnrtMemset(held, 0, bytes);
  }
  Tensor(void *memory, IntArrayRef sizes, TensorOptions options, std::function<void(void *)> free)
      : impl(new c10::TensorImpl{std::shared_ptr<void>(memory, free), sizes.vec(), options}) {}

  bool defined() const { return impl != nullptr; }
  int64_t numel() const { return product(impl->sizes); }
  size_t element_size() const { return c10::elementSize(impl->options.type); }
  size_t nbytes() const { return numel() * element_size(); }
  int64_t dim() const { return impl->sizes.size(); }
  int64_t size(int64_t i) const { return impl->sizes.at(i < 0 ? i + dim() : i); }
  IntArrayRef sizes() const { return impl->sizes; }
  TensorOptions options() const { return impl->options; }
  ScalarType scalar_type() const { return impl->options.type; }
  ScalarType dtype() const { return impl->options.type; }
  Device device() const { return impl->options.place; }
  bool is_contiguous() const { return impl->strides.empty(); }
  int64_t stride(int64_t i) const {
    if (!impl->strides.empty()) return impl->strides.at(i < 0 ? i + dim() : i);
    const auto from = impl->sizes.begin() + (i < 0 ? i + dim() : i) + 1;
    return product({from, impl->sizes.end()});
  }
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides, int64_t offset = 0) const {
    Tensor other = reshape(sizes);
    other.impl->set_sizes_and_strides(sizes, strides);
    other.impl->set_storage_offset(offset);
    return other;
  }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_privateuseone() const { return !is_cpu(); }
  Tensor contiguous() const { return *this; }
  Tensor detach() const { return *this; }
  c10::TensorImpl *unsafeGetTensorImpl() const { return impl.get(); }
  void *data_ptr() const { return impl->owned.get(); }
  void *mutable_data_ptr() const { return data_ptr(); }
  template <class T>
  T *data_ptr() const {
    return static_cast<T *>(data_ptr());
  }
  template <class T>
  T *mutable_data_ptr() const {
    return data_ptr<T>();
  }

  // The sizes alone, where the storage is large enough, and a new one where it is not.
  const Tensor &resize_(IntArrayRef sizes) const {
    if (product(sizes.vec()) > numel()) {
      Tensor larger(sizes, options());
      cnrtMemcpy(larger.data_ptr(), data_ptr(), nbytes(), is_cpu() ? cnrtMemcpyHostToHost : cnrtMemcpyDevToDev);
      impl->owned = larger.impl->owned;
    }
    impl->sizes = sizes.vec();
    return *this;
  }
  Tensor reshape(IntArrayRef sizes) const {
    Tensor other;
    other.impl.reset(new c10::TensorImpl{impl->owned, sizes.vec(), impl->options});
    return other;
  }
  Tensor view(IntArrayRef sizes) const { return reshape(sizes); }
};

// The sum of two tensors of one shape on the host, which is all of arithmetic that static initialisers ask for.
inline Tensor operator+(const Tensor &a, const Tensor &b) {
  Tensor sum(a.sizes(), a.options());
  auto add = [&](auto *to) {
    std::vector<std::decay_t<decltype(*to)>> one(a.numel()), two(a.numel());
    cnrtMemcpy(one.data(), a.data_ptr(), a.nbytes(), cnrtMemcpyDevToHost);
    cnrtMemcpy(two.data(), b.data_ptr(), b.nbytes(), cnrtMemcpyDevToHost);
    for (size_t i = 0; i < one.size(); ++i) one[i] = one[i] + two[i];
    cnrtMemcpy(to, one.data(), a.nbytes(), cnrtMemcpyHostToDev);
  };
  switch (a.scalar_type()) {
    case ScalarType::Half: add(sum.data_ptr<_Float16>()); break;
    case ScalarType::Float: add(sum.data_ptr<float>()); break;
    default: c10::refuse(__FILE__, __LINE__, "a sum of other types than half and float");
  }
  return sum;
}

constexpr ScalarType kHalf = ScalarType::Half, kFloat = ScalarType::Float, kInt = ScalarType::Int,
                     kLong = ScalarType::Long, kBool = ScalarType::Bool, kByte = ScalarType::Byte;
constexpr DeviceType kCPU = DeviceType::CPU, kPrivateUse1 = DeviceType::PrivateUse1;
}  // namespace at

namespace torch {
using namespace at;
constexpr ScalarType kFloat16 = kHalf, kFloat32 = kFloat, kInt32 = kInt, kInt64 = kLong, kUInt8 = kByte,
                     kInt8 = ScalarType::Char, kInt16 = ScalarType::Short, kBFloat16 = ScalarType::BFloat16;

inline Tensor empty(IntArrayRef sizes, TensorOptions options = {}) { return Tensor(sizes, options); }
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {}) { return Tensor(sizes, options, true); }
inline Tensor empty_like(const Tensor &other) { return Tensor(other.sizes(), other.options()); }
inline Tensor empty_like(const Tensor &other, TensorOptions options) { return Tensor(other.sizes(), options); }
inline Tensor zeros_like(const Tensor &other) { return Tensor(other.sizes(), other.options(), true); }
inline Tensor from_blob(void *memory, IntArrayRef sizes, TensorOptions options = {}) {
  return Tensor(memory, sizes, options, [](void *) {});
}
inline Tensor from_blob(void *memory, IntArrayRef sizes, std::function<void(void *)> free, TensorOptions options = {}) {
  return Tensor(memory, sizes, options, free);
}
}  // namespace torch
