// Names that host functions of a PyTorch extension use; with them, their launches and the instantiated kernels are found.
// The host code itself is compiled with PyTorch's own headers; no function here has a body.
#pragma once
#include "mlusim_cxx.h"

#define TORCH_API
#define C10_API
#define TORCH_CHECK(...) ((void)0)
#define TORCH_CHECK_EQ(...) ((void)0)
#define TORCH_INTERNAL_ASSERT(...) ((void)0)
#define TORCH_WARN(...) ((void)0)
#define AT_ASSERTM(...) ((void)0)
#define AT_ERROR(...) ((void)0)
#define TORCH_MLU_CHECK(...) ((void)0)
#define TORCH_CNRT_CHECK(...) (__VA_ARGS__)
#define PYBIND11_MODULE(name, m) static void mlusim_module(pybind11::module_ &m)
#define TORCH_LIBRARY(name, m) static void mlusim_library(torch::Library &m)
#define TORCH_LIBRARY_IMPL(name, key, m) static void mlusim_library_impl(torch::Library &m)
#define TORCH_EXTENSION_NAME extension

namespace c10 {
enum class ScalarType : signed char {
  Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool, QInt8, QUInt8, QInt32, BFloat16, UInt16, UInt32, UInt64
};
enum class DeviceType : signed char { CPU, CUDA, PrivateUse1 };
enum class MemoryFormat : signed char { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
enum class Layout : signed char { Strided, Sparse };
static constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char, kShort = ScalarType::Short,
  kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long, kInt64 = ScalarType::Long, kHalf = ScalarType::Half,
  kFloat16 = ScalarType::Half, kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double, kFloat64 = ScalarType::Double,
  kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16, kComplexFloat = ScalarType::ComplexFloat, kUInt16 = ScalarType::UInt16,
  kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;
static constexpr DeviceType kCPU = DeviceType::CPU, kPrivateUse1 = DeviceType::PrivateUse1;
static constexpr Layout kStrided = Layout::Strided;
struct Half {
  unsigned short x;
  Half();
  Half(float);
  operator float() const;
};
struct BFloat16 {
  unsigned short x;
  BFloat16();
  BFloat16(float);
  operator float() const;
};
template <class T> struct complex { T real_, imag_; };
struct Device {
  Device(DeviceType, int = -1);
  DeviceType type() const;
  int index() const;
  bool is_cpu() const;
  bool is_privateuseone() const;
  bool operator==(const Device &) const;
  bool operator!=(const Device &) const;
};
struct DeviceGuard { explicit DeviceGuard(Device); };
struct OptionalDeviceGuard { explicit OptionalDeviceGuard(Device); };
template <class T> struct ArrayRef {
  ArrayRef();
  ArrayRef(const T &);
  ArrayRef(const std::vector<T> &);
  ArrayRef(std::initializer_list<T>);
  ArrayRef(const T *, unsigned long);
  const T &operator[](unsigned long) const;
  unsigned long size() const;
  const T *data() const;
  const T *begin() const;
  const T *end() const;
  const T &front() const;
  const T &back() const;
  bool empty() const;
  std::vector<T> vec() const;
  bool equals(ArrayRef) const;
  bool operator==(const ArrayRef &) const;
  bool operator!=(const ArrayRef &) const;
};
using IntArrayRef = ArrayRef<long>;
struct Scalar {
  template <class T> Scalar(T);
  template <class T> T to() const;
  double toDouble() const;
  float toFloat() const;
  long toLong() const;
  int toInt() const;
};
struct TypeMeta {
  ScalarType toScalarType() const;
  unsigned long itemsize() const;
  operator ScalarType() const;
  bool operator==(ScalarType) const;
  bool operator!=(ScalarType) const;
};
struct TensorOptions {
  TensorOptions();
  TensorOptions(ScalarType);
  TensorOptions(Device);
  TensorOptions(TypeMeta);
  TensorOptions dtype(ScalarType) const;
  TensorOptions dtype(TypeMeta) const;
  TensorOptions device(Device) const;
  TensorOptions device(DeviceType, int = -1) const;
  TensorOptions layout(Layout) const;
  TensorOptions requires_grad(bool) const;
  TensorOptions memory_format(MemoryFormat) const;
};
template <class T> using optional = std::optional<T>;
const char *toString(ScalarType);
unsigned long elementSize(ScalarType);
struct TensorImpl {
  void *mutable_data();
  const void *data() const;
};
struct Stream {};
}  // namespace c10

namespace at {
using namespace c10;
using std::tuple;
struct Tensor {
  Tensor();
  bool defined() const;
  long dim() const;
  long ndimension() const;
  long size(long) const;
  long stride(long) const;
  long numel() const;
  long nbytes() const;
  long storage_offset() const;
  long element_size() const;
  long itemsize() const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  ScalarType scalar_type() const;
  TypeMeta dtype() const;
  Device device() const;
  long get_device() const;
  TensorOptions options() const;
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const;
  bool is_cpu() const;
  bool is_privateuseone() const;
  bool is_floating_point() const;
  bool requires_grad() const;
  void *data_ptr() const;
  template <class T> T *data_ptr() const;
  template <class T> T *data() const;
  template <class T> T *mutable_data_ptr() const;
  void *mutable_data_ptr() const;
  template <class T> const T *const_data_ptr() const;
  const void *const_data_ptr() const;
  TensorImpl *unsafeGetTensorImpl() const;
  template <class T> T item() const;
  Scalar item() const;
  Tensor operator[](long) const;
  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const;
  Tensor view(IntArrayRef) const;
  Tensor reshape(IntArrayRef) const;
  Tensor expand(IntArrayRef, bool = false) const;
  Tensor permute(IntArrayRef) const;
  Tensor repeat(IntArrayRef) const;
  Tensor as_strided(IntArrayRef, IntArrayRef, std::optional<long> = {}) const;
  Tensor view_as(const Tensor &) const;
  Tensor expand_as(const Tensor &) const;
  const Tensor &resize_(IntArrayRef) const;
  Tensor &set_requires_grad(bool);
  std::vector<Tensor> split(long, long = 0) const;
  std::vector<Tensor> chunk(long, long = 0) const;
  std::vector<Tensor> unbind(long = 0) const;
  std::tuple<Tensor, Tensor> max(long, bool = false) const;
  std::tuple<Tensor, Tensor> min(long, bool = false) const;
  std::tuple<Tensor, Tensor> sort(long = -1, bool = false) const;
  std::tuple<Tensor, Tensor> topk(long, long = -1, bool = true, bool = true) const;
  Tensor max() const;
  Tensor min() const;
#define MLUSIM_TENSOR(name) template <class... A> Tensor name(A...) const;
  MLUSIM_TENSOR(to) MLUSIM_TENSOR(cpu) MLUSIM_TENSOR(clone) MLUSIM_TENSOR(detach) MLUSIM_TENSOR(flatten) MLUSIM_TENSOR(transpose) MLUSIM_TENSOR(t)
  MLUSIM_TENSOR(narrow) MLUSIM_TENSOR(select) MLUSIM_TENSOR(slice) MLUSIM_TENSOR(squeeze) MLUSIM_TENSOR(unsqueeze) MLUSIM_TENSOR(sum) MLUSIM_TENSOR(mean)
  MLUSIM_TENSOR(mm) MLUSIM_TENSOR(bmm) MLUSIM_TENSOR(matmul) MLUSIM_TENSOR(add) MLUSIM_TENSOR(sub) MLUSIM_TENSOR(mul) MLUSIM_TENSOR(div) MLUSIM_TENSOR(add_)
  MLUSIM_TENSOR(mul_) MLUSIM_TENSOR(div_) MLUSIM_TENSOR(sub_) MLUSIM_TENSOR(zero_) MLUSIM_TENSOR(fill_) MLUSIM_TENSOR(copy_) MLUSIM_TENSOR(exp) MLUSIM_TENSOR(log)
  MLUSIM_TENSOR(sqrt) MLUSIM_TENSOR(abs) MLUSIM_TENSOR(neg) MLUSIM_TENSOR(pow) MLUSIM_TENSOR(clamp) MLUSIM_TENSOR(type) MLUSIM_TENSOR(half) MLUSIM_TENSOR(masked_fill)
  MLUSIM_TENSOR(index_select) MLUSIM_TENSOR(gather) MLUSIM_TENSOR(any) MLUSIM_TENSOR(all) MLUSIM_TENSOR(nonzero) MLUSIM_TENSOR(cumsum) MLUSIM_TENSOR(argmax)
  MLUSIM_TENSOR(new_empty) MLUSIM_TENSOR(new_zeros) MLUSIM_TENSOR(toType) MLUSIM_TENSOR(argsort) MLUSIM_TENSOR(softmax) MLUSIM_TENSOR(index) MLUSIM_TENSOR(flip)
#undef MLUSIM_TENSOR
};
using TensorList = ArrayRef<Tensor>;
#define MLUSIM_MADE(name) Tensor name(IntArrayRef, TensorOptions = {});
MLUSIM_MADE(empty) MLUSIM_MADE(zeros) MLUSIM_MADE(ones) MLUSIM_MADE(rand) MLUSIM_MADE(randn)
#undef MLUSIM_MADE
#define MLUSIM_LIKE(name) Tensor name(const Tensor &, TensorOptions = {}, std::optional<MemoryFormat> = {});
MLUSIM_LIKE(empty_like) MLUSIM_LIKE(zeros_like) MLUSIM_LIKE(ones_like)
#undef MLUSIM_LIKE
Tensor full(IntArrayRef, Scalar, TensorOptions = {});
Tensor full_like(const Tensor &, Scalar, TensorOptions = {});
Tensor empty_strided(IntArrayRef, IntArrayRef, TensorOptions = {});
Tensor from_blob(void *, IntArrayRef, TensorOptions = {});
template <class T> Tensor tensor(const T &, TensorOptions = {});
template <class T> Tensor tensor(std::initializer_list<T>, TensorOptions = {});
Tensor arange(Scalar, TensorOptions = {});
Tensor arange(Scalar, Scalar, TensorOptions = {});
Tensor cat(const std::vector<Tensor> &, long = 0);
Tensor stack(const std::vector<Tensor> &, long = 0);
#define MLUSIM_OF(name) template <class... A> Tensor name(const Tensor &, A...);
MLUSIM_OF(matmul) MLUSIM_OF(mm) MLUSIM_OF(bmm) MLUSIM_OF(add) MLUSIM_OF(sub) MLUSIM_OF(mul) MLUSIM_OF(div) MLUSIM_OF(sum) MLUSIM_OF(mean) MLUSIM_OF(softmax)
MLUSIM_OF(relu) MLUSIM_OF(sigmoid) MLUSIM_OF(tanh) MLUSIM_OF(exp) MLUSIM_OF(log) MLUSIM_OF(sqrt) MLUSIM_OF(abs) MLUSIM_OF(clamp) MLUSIM_OF(transpose)
MLUSIM_OF(where) MLUSIM_OF(linear) MLUSIM_OF(squeeze) MLUSIM_OF(unsqueeze) MLUSIM_OF(flatten) MLUSIM_OF(reshape) MLUSIM_OF(argsort) MLUSIM_OF(masked_select)
#undef MLUSIM_OF
#define MLUSIM_SIGN(sign) \
  Tensor operator sign(const Tensor &, const Tensor &); \
  Tensor operator sign(const Tensor &, Scalar); \
  Tensor operator sign(Scalar, const Tensor &);
MLUSIM_SIGN(+) MLUSIM_SIGN(-) MLUSIM_SIGN(*) MLUSIM_SIGN(/) MLUSIM_SIGN(<) MLUSIM_SIGN(>) MLUSIM_SIGN(<=) MLUSIM_SIGN(>=)
#undef MLUSIM_SIGN
namespace indexing {}
}  // namespace at

namespace torch {
using namespace at;
using namespace c10;
struct Library {
  template <class... A> Library &def(A...);
  template <class... A> Library &impl(A...);
};
struct NoGradGuard {};
}  // namespace torch

namespace pybind11 {
struct handle {
  template <class T> T cast() const;
  handle attr(const char *) const;
  template <class... A> handle operator()(A...) const;
  void *ptr() const;
};
struct object : handle {};
struct str : object {};
struct list : object {
  template <class T> void append(const T &);
};
struct tuple : object {};
struct dict : object {};
struct module_ : object {
  static module_ import(const char *);
  template <class F, class... A> module_ &def(const char *, F, A...);
};
using module = module_;
struct gil_scoped_acquire {};
struct gil_scoped_release {};
struct arg {
  explicit arg(const char *);
};
template <class T> T reinterpret_borrow(handle);
template <class T> T reinterpret_steal(handle);
template <class T> object cast(const T &);
}  // namespace pybind11
namespace py = pybind11;

struct cnnlContext;
namespace torch_mlu {
cnnlContext *getCurrentHandle(int = -1);
struct MLUStream {
  operator cnrtQueue_t() const;
  cnrtQueue_t stream() const;
  cnrtQueue_t queue() const;
  void synchronize() const;
};
MLUStream getCurMLUStream(int = -1);
MLUStream getCurrentMLUStream(int = -1);
MLUStream getDefaultMLUStream(int = -1);
cnrtQueue_t getCurQueue(int = -1);
cnrtQueue_t getCurrentQueue(int = -1);
int current_device();
struct MluTensorMemory {
  const MluTensorMemory *operator->() const;
  void *mlu_data_ptr() const;
  void *cnnlMalloc() const;
};
MluTensorMemory getMluTensorImpl(const at::Tensor &);
void *mlu_data_ptr(const MluTensorMemory &);
at::Tensor cnnl_contiguous(const at::Tensor &, at::MemoryFormat = at::MemoryFormat::Contiguous);
at::MemoryFormat get_channels_last_memory_format(long);
namespace mlu {
struct MLUGuard {
  template <class T> explicit MLUGuard(T);
};
struct OptionalMLUGuard {
  template <class T> explicit OptionalMLUGuard(T);
};
struct MLUStreamGuard {
  template <class T> explicit MLUStreamGuard(T);
};
}  // namespace mlu
}  // namespace torch_mlu
