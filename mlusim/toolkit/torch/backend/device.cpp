// The device `mlu` of PyTorch: memory, streams, events and hooks. Its memory is the simulator's GDRAM.
#include "device.h"

#include "capture.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pthread.h>
#include <torch/csrc/profiler/stubs/base.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
#define MLUSIM_DEVICE_ALLOCATOR 1
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <cxxabi.h>

#include <cstring>
#include <map>
#include <mutex>

namespace mlusim_torch {
namespace {

thread_local std::map<int, uint64_t> current_queues;  // the current queue of each device
thread_local std::string naming;
bool used = false, child = false;

// Return "error: SENTENCE (called at PLACE)\nMORE LINES\n" without its first word.
std::string sentence(std::string text) {
  if (text.rfind("error: ", 0) == 0) text.erase(0, 7);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "the simulator refuses this and does not say why" : text;
}

void use() {
  TORCH_CHECK(!child, "the device mlu was used before this process was forked, and cannot be used in the child; start processes with the method \"spawn\"");
  if (used) return;
  used = true;
  pthread_atfork(nullptr, nullptr, [] { child = true; });
}

// ---- memory ------------------------------------------------------------------------------------
std::map<uint64_t, std::pair<size_t, int>> &blocks() {
  static auto *one = new std::map<uint64_t, std::pair<size_t, int>>;  // never destroyed, because tensors may outlive static objects
  return *one;
}
std::mutex &lock() {
  static auto *one = new std::mutex;
  return *one;
}

void give_back(void *pointer) {
  if (!pointer || child) return;
  int device = 0;
  {
    std::lock_guard<std::mutex> held(lock());
    auto found = blocks().find((uint64_t)pointer);
    if (found == blocks().end()) return;
    device = found->second.second;
    memory_use(device).bytes.give_back(found->second.first);
    memory_use(device).blocks.give_back(1);
    blocks().erase(found);
  }
  mlusim::ask(OP_FREE, {(uint64_t)pointer}, nullptr, nullptr, 0, device);
}

std::pair<uint64_t, uint64_t> free_and_all(int device) {
  std::string both = asked(OP_MEMORY, {}, {}, device).data;
  std::pair<uint64_t, uint64_t> found;
  if (both.size() == sizeof found) memcpy(&found, both.data(), sizeof found);
  return found;
}
void forget_most(int device) {
  std::lock_guard<std::mutex> held(lock());
  for (Amount *one : {&memory_of(device).bytes, &memory_of(device).blocks}) one->most = one->now;
}
void forget_calls(int device) {
  std::lock_guard<std::mutex> held(lock());
  for (Amount *one : {&memory_of(device).bytes, &memory_of(device).blocks}) one->taken = one->given_back = 0;
  memory_of(device).refused = 0;
}

#ifdef MLUSIM_DEVICE_ALLOCATOR
// The statistics of memory for torch.accelerator.
struct CountedAllocator : c10::DeviceAllocator {
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}  // no memory is cached
  void recordStream(const c10::DataPtr &, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    c10::CachingDeviceAllocator::DeviceStats found;
    std::lock_guard<std::mutex> held(lock());
    const MemoryUse &use = memory_of(device);
    for (auto *one : {&found.allocation, &found.segment, &found.active}) count(*one, use.blocks);
    for (auto *one : {&found.allocated_bytes, &found.reserved_bytes, &found.active_bytes, &found.requested_bytes}) count(*one, use.bytes);
    found.num_ooms = (int64_t)use.refused;
    return found;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override { forget_calls(device); }
  void resetPeakStats(c10::DeviceIndex device) override { forget_most(device); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) { return free_and_all(device); }  // missing in the interface of some versions

 private:
  static void count(c10::CachingAllocator::StatArray &into, const Amount &from) {
    auto &all = into[(size_t)c10::CachingAllocator::StatType::AGGREGATE];
    all.current = (int64_t)from.now, all.peak = (int64_t)from.most, all.allocated = (int64_t)from.taken, all.freed = (int64_t)from.given_back;
  }
};
#else
using CountedAllocator = c10::Allocator;
#endif

struct MluAllocator final : CountedAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    int device = mlusim::current_device();
    c10::Device place(MLU, (c10::DeviceIndex)device);
    if (!bytes) return {nullptr, nullptr, &give_back, place};
    use();
    std::string name = naming.empty() ? std::to_string(bytes) + (bytes == 1 ? " byte of a tensor" : " bytes of a tensor") : naming;
    uint64_t allowed = memory_use(device).allowed, used = memory_use(device).bytes.now;
    if (bytes > allowed || used > allowed - bytes) {
      ++memory_use(device).refused;
      C10_THROW_ERROR(OutOfMemoryError, "MLU out of memory for " + name + ": this process may use " + std::to_string(allowed) + " bytes (set_per_process_memory_fraction) and " +
                                            std::to_string(used) + " are used");
    }
    mlusim::Heard heard;
    mlusim::Reply reply = mlusim::ask(OP_MALLOC, {bytes}, nullptr, name.data(), name.size(), device);
    if (reply.code == cnrtErrorNoMem) {
      ++memory_use(device).refused;
      std::string why = "MLU out of memory for " + name + ": " + sentence(heard.text) +
                        "; a tensor is freed when nothing refers to it any more (`del x`, results kept for gradients too), and torch.mlu.empty_cache() frees nothing more";
      C10_THROW_ERROR(OutOfMemoryError, why);
    }
    if (reply.code != cnrtSuccess) raise(reply.code, heard.text);
    std::lock_guard<std::mutex> held(lock());
    blocks()[reply.value] = {bytes, device};
    memory_use(device).bytes.take(bytes);
    memory_use(device).blocks.take(1);
    return {(void *)reply.value, (void *)reply.value, &give_back, place};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void *target, const void *source, std::size_t bytes) const override {
    if (!bytes) return;
    mlusim::Reply reply = asked(OP_COPY, {(uint64_t)target, (uint64_t)source, bytes, cnrtMemcpyDevToDev, queue()});
    if (reply.value != MOVED) memmove(mlusim::mapped((uint64_t)target), mlusim::mapped((uint64_t)source), bytes);
  }
};
MluAllocator mlu_allocator;
REGISTER_ALLOCATOR(MLU, &mlu_allocator);

struct PinnedAllocator final : c10::Allocator {
  static void free(void *pointer) { cnrtFreeHost(pointer); }
  c10::DataPtr allocate(size_t bytes) override {
    void *pointer = nullptr;
    use();
    if (bytes) TORCH_CHECK(cnrtHostMalloc(&pointer, bytes) == cnrtSuccess, "the host has not ", bytes, " bytes of memory left");
    mlusim::manage_pinned(pointer);
    return {pointer, pointer, &free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free; }
  void copy_data(void *target, const void *source, std::size_t bytes) const override { memcpy(target, source, bytes); }
};
PinnedAllocator pinned_allocator;

// ---- streams and events ------------------------------------------------------------------------
c10::Stream stream_of(uint64_t handle, c10::DeviceIndex device) { return c10::Stream(c10::Stream::UNSAFE, c10::Device(MLU, device), (c10::StreamId)handle); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return MLU; }
  c10::Device getDevice() const override { return c10::Device(MLU, (c10::DeviceIndex)mlusim::current_device()); }
  c10::Device exchangeDevice(c10::Device d) const override {
    c10::Device before = getDevice();
    setDevice(d);
    return before;
  }
  void setDevice(c10::Device d) const override {
    if (d.index() < 0 || d.index() == mlusim::current_device()) return;
    check_device(d.index());
    mlusim::choose_device(d.index());
  }
  void uncheckedSetDevice(c10::Device d) const noexcept override {
    if (d.index() >= 0) mlusim::choose_device(d.index());
  }
  c10::DeviceIndex numbered(c10::Device d) const { return d.index() < 0 ? getDevice().index() : d.index(); }
  c10::Stream getStream(c10::Device d) const noexcept override { return stream_of(queue(numbered(d)), numbered(d)); }
  c10::Stream getDefaultStream(c10::Device d) const override { return stream_of(0, numbered(d)); }
  c10::Stream getNewStream(c10::Device d, int) const override { return stream_of(asked(OP_QUEUE, {}, {}, numbered(d)).value, numbered(d)); }
  c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override { return getNewStream(d, 0); }
  c10::Stream exchangeStream(c10::Stream s) const noexcept override {
    c10::Stream before = getStream(s.device());
    set_queue((uint64_t)s.id(), s.device_index());
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    try {
      return (c10::DeviceIndex)devices();
    } catch (...) {
      return 0;
    }
  }
  void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override {
    if (event && !child) mlusim::ask(OP_NOTIFIER_END, {(uint64_t)event});
  }
  void record(void **event, const c10::Stream &stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = (void *)asked(OP_NOTIFIER, {}).value;
    asked(OP_PLACE, {(uint64_t)*event, (uint64_t)stream.id()});
  }
  void block(void *event, const c10::Stream &stream) const override {
    if (event) asked(OP_QUEUE_WAIT, {(uint64_t)stream.id(), (uint64_t)event});
  }
  bool queryEvent(void *) const override { return true; }
  bool queryStream(const c10::Stream &) const override { return true; }
  void synchronizeEvent(void *event) const override {
    if (event) asked(OP_WAIT, {(uint64_t)event});
  }
  void synchronizeStream(const c10::Stream &stream) const override { asked(OP_SYNC, {(uint64_t)stream.id()}); }
  void synchronizeDevice(const c10::DeviceIndex device) const override { asked(OP_SYNC, {mlusim::EVERY}, {}, device); }
  double elapsedTime(void *first, void *second, const c10::DeviceIndex) const override {
    TORCH_CHECK(first && second, "both events must be recorded before the time between them is asked for");
    uint64_t bits = asked(OP_DURATION, {(uint64_t)first, (uint64_t)second}).value;
    double us;
    memcpy(&us, &bits, sizeof us);
    return us / 1000;
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

// Throw an exception with the sentence of a call that the driver rejects.
template <class Call> void checked(Call call) {
  mlusim::Heard heard;
  cnrtRet_t code = call();
  if (code != cnrtSuccess) raise(code, heard.text.empty() ? cnrtGetErrorStr(code) : heard.text.substr(0, heard.text.find(" (called at ")));
}

// Events of torch.autograd.profiler: the device's time between them.
struct ProfilerEvents final : torch::profiler::impl::ProfilerStubs {
  using Event = torch::profiler::impl::ProfilerVoidEventStub;
  void record(c10::DeviceIndex *device, Event *event, int64_t *nanoseconds) const override {
    if (device) *device = (c10::DeviceIndex)mlusim::current_device();
    uint64_t notifier = asked(OP_NOTIFIER, {}).value;
    *event = Event((void *)notifier, [](void *one) { Guard().destroyEvent(one, 0); });
    if (nanoseconds) *nanoseconds = c10::getTime();
    asked(OP_PLACE, {notifier, queue()});
  }
  float elapsed(const Event *first, const Event *second) const override { return (float)(Guard().elapsedTime(first->get(), second->get(), 0) * 1000); }
  void mark(const char *) const override {}
  void rangePush(const char *) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> call) const override {
    for (int device = 0; device < devices(); ++device) call(device);
  }
  void synchronize() const override { asked(OP_SYNC, {mlusim::EVERY}); }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const { return true; }  // missing in the interface of some versions
  bool isAvailable() const { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return (c10::DeviceIndex)devices(); }
  c10::DeviceIndex getCurrentDevice() const override { return (c10::DeviceIndex)mlusim::current_device(); }
  void setCurrentDevice(c10::DeviceIndex index) const override { Guard().setDevice(c10::Device(MLU, index)); }
  at::Allocator *getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  bool isPinnedPtr(const void *pointer) const override {
    cnrtPointerAttributes_t found;
    return used && !child && cnrtPointerGetAttributes(&found, pointer) == cnrtSuccess && found.type == cnrtMemTypeHost;
  }
  at::Device getDeviceFromPtr(void *pointer) const override {
    int64_t number = (int64_t)asked(OP_KIND, {(uint64_t)pointer}).value;
    TORCH_CHECK(number >= 0, "no memory of a device mlu is at ", pointer);
    return at::Device(MLU, (c10::DeviceIndex)number);
  }
  void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override { resize_storage(storage.unsafeGetStorageImpl(), bytes); }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override { return new_generator(index < 0 ? mlusim::current_device() : index); }
  const at::Generator &getDefaultGenerator(c10::DeviceIndex index) const override { return default_generator(index < 0 ? mlusim::current_device() : index); }
};

}  // namespace

[[noreturn]] void raise(cnrtRet_t, const std::string &text) { throw std::runtime_error(sentence(text)); }

mlusim::Reply asked(Op op, std::initializer_list<uint64_t> words, const std::string &payload, int device) {
  use();
  mlusim::Heard heard;
  mlusim::Reply reply = mlusim::ask(op, words, nullptr, payload.data(), payload.size(), device);
  if (reply.code != cnrtSuccess) raise(reply.code, heard.text.empty() ? cnrtGetErrorStr(reply.code) : heard.text);
  return reply;
}

uint64_t queue(int device) {
  const auto found = current_queues.find(device < 0 ? mlusim::current_device() : device);
  return found == current_queues.end() ? 0 : found->second;
}
void set_queue(uint64_t handle, int device) { current_queues[device < 0 ? mlusim::current_device() : device] = handle; }
int devices() {
  static int count = 0;
  if (!count) count = (int)asked(OP_DEVICES, {}).value;
  return count;
}
bool forked() { return child; }
c10::Allocator *allocator() { return &mlu_allocator; }
void check_device(int number) {
  TORCH_CHECK(number < devices(), "there is no device mlu:", number, "; ", devices(), devices() == 1 ? " is there" : " are there, counted from 0");
}
MemoryUse &memory_use(int device) {
  static auto *all = new std::map<int, MemoryUse>;  // never destroyed, because tensors may outlive static objects
  return (*all)[device];
}
MemoryUse &memory_of(int device) {
  check_device(device);
  return memory_use(device);
}

static std::string list_of(c10::IntArrayRef numbers) {
  std::string text = "(";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + (numbers.size() == 1 ? ",)" : ")");
}
std::string described(c10::ScalarType type, c10::IntArrayRef sizes) { return "a " + std::string(c10::toString(type)) + " tensor " + list_of(sizes); }
Naming::Naming(c10::ScalarType type, c10::IntArrayRef sizes) { naming = described(type, sizes); }
Naming::~Naming() { naming.clear(); }

void describe(const at::Tensor &tensor, const std::string &name) {
  if (!tensor.defined() || tensor.layout() != c10::kStrided || !tensor.storage().data()) return;
  bool there = tensor.device().type() == MLU;
  if (!there && !tensor.is_cpu()) return;
  std::string text = name + ", " + described(tensor.scalar_type(), tensor.sizes()) + (there ? "" : " of the CPU");
  const bool strided = there && !tensor.is_contiguous();
  if (strided) text += " with strides " + list_of(tensor.strides());
  const void *address = there ? tensor.storage().data() : tensor.data_ptr();
  static auto *known = new std::map<const void *, std::string>;
  std::string &before = (*known)[address];
  if (before == text) return;
  before = text;
  asked(OP_DESCRIBE, {(uint64_t)address, strided}, text);
}

// Send the line of Python that launches to the simulator, if a command observes the program.
static void tell_line() {
  static const bool watched = mlusim::ask(OP_LINE).value == 1;
  if (!watched || !PyGILState_Check()) return;
  PyFrameObject *frame = PyEval_GetFrame();
  if (!frame) return;
  PyCodeObject *code = PyFrame_GetCode(frame);
  const std::string place = pybind11::str(code->co_filename).cast<std::string>() + ":" + std::to_string(PyFrame_GetLineNumber(frame));
  Py_DECREF(code);
  mlusim::ask(OP_LINE, {}, nullptr, place.data(), place.size());
}

void resize_storage(c10::StorageImpl *storage, size_t bytes) {
  TORCH_CHECK(storage->resizable(), "this storage cannot be resized");
  c10::DataPtr fresh = mlu_allocator.allocate(bytes);
  size_t kept = std::min(bytes, storage->nbytes());
  if (kept && storage->data()) mlu_allocator.copy_data(fresh.get(), storage->data(), kept);
  storage->set_data_ptr_noswap(std::move(fresh));
  storage->set_nbytes(bytes);
}

void register_hooks() {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  torch::profiler::impl::registerPrivateUse1Methods(new ProfilerEvents);
  mlusim::when_trapped(&raise);
  mlusim::when_launching(&tell_line);
}

}  // namespace mlusim_torch

PYBIND11_MODULE(MODULE_NAME, m) {
  using namespace mlusim_torch;
  m.def("start", &register_hooks);
  m.def("devices", &devices);
  m.def("forked", &forked);
  m.def("current_device", &mlusim::current_device);
  m.def("set_device", [](int index) { Guard().setDevice(c10::Device(MLU, (c10::DeviceIndex)index)); });
  m.def("name", [](int device) { return asked(OP_NAME, {}, {}, device).data; });
  m.def("attribute", [](const std::string &name, int device) { return asked(OP_ATTRIBUTE, {}, name, device).value; });
  m.def("memory", &free_and_all);
  m.attr("DEVICE_TYPE") = (int)MLU;
  // Numbers of allocations and of their bytes: current, peak, total allocated, and total freed.
  m.def("memory_stats", [](int device) {
    std::map<std::string, std::array<uint64_t, 4>> found;
    std::lock_guard<std::mutex> held(lock());
    MemoryUse &use = memory_of(device);
    for (const char *name : {"allocation", "segment", "active"}) found[name] = use.blocks.shown();
    for (const char *name : {"allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes"}) found[name] = use.bytes.shown();
    return found;
  });
  m.def("refused", [](int device) { return memory_of(device).refused; });
  m.def("allow", [](int device, uint64_t bytes) { memory_of(device).allowed = bytes; });
  m.def("forget_most", &forget_most);
  m.def("forget_calls", &forget_calls);
  m.def("allocations", [](int device) {
    std::vector<std::pair<uint64_t, size_t>> found;
    std::lock_guard<std::mutex> held(lock());
    for (const auto &[address, block] : blocks())
      if (block.second == device) found.emplace_back(address, block.first);
    return found;
  });
  m.def("new_bytes", [](size_t bytes, int device) {
    c10::DeviceGuard there(c10::Device(MLU, (c10::DeviceIndex)device));
    return (uint64_t)mlu_allocator.raw_allocate(bytes);
  });
  m.def("end_bytes", [](uint64_t address) { give_back((void *)address); });
  m.def("synchronize", [](int device) { asked(OP_SYNC, {mlusim::EVERY}, {}, device); });
  m.def("sync_queue", [](uint64_t handle) { asked(OP_SYNC, {handle}); });
  m.def("new_queue", [](int device) { return asked(OP_QUEUE, {}, {}, device).value; });
  m.def("end_queue", [](uint64_t handle) { if (!forked()) mlusim::ask(OP_QUEUE_END, {handle}); });
  m.def("queue", &queue, pybind11::arg("device") = -1);
  m.def("set_queue", &set_queue);
  m.def("new_notifier", [] { return asked(OP_NOTIFIER, {}).value; });
  m.def("end_notifier", [](uint64_t handle) { if (!forked()) mlusim::ask(OP_NOTIFIER_END, {handle}); });
  m.def("place", [](uint64_t notifier, uint64_t handle) { asked(OP_PLACE, {notifier, handle}); });
  m.def("wait", [](uint64_t notifier) { asked(OP_WAIT, {notifier}); });
  m.def("queue_waits", [](uint64_t handle, uint64_t notifier) { asked(OP_QUEUE_WAIT, {handle, notifier}); });
  m.def("elapsed", [](uint64_t first, uint64_t second) { return Guard().elapsedTime((void *)first, (void *)second, 0); });
  m.def("default_generator", &default_generator);
  m.def("begin_capture", [] { checked([] { return cnrtQueueBeginCapture((cnrtQueue_t)queue(), cnrtQueueCaptureModeRelaxed); }); });
  m.def("end_capture", [] {
    cnrtTaskTopo_t topo = nullptr;
    cnrtTaskTopoEntity_t entity = nullptr;
    checked([&] { return cnrtQueueEndCapture((cnrtQueue_t)queue(), &topo); });
    checked([&] { return cnrtTaskTopoInstantiate(&entity, topo, nullptr, nullptr, 0); });
    cnrtTaskTopoDestroy(topo);
    return (uint64_t)entity;
  });
  m.def("is_capturing", [] { return mlusim::capturing(queue()); });
  m.def("run_captured", [](uint64_t entity) { checked([&] { return cnrtTaskTopoEntityInvoke((cnrtTaskTopoEntity_t)entity, (cnrtQueue_t)queue()); }); });
  m.def("end_captured", [](uint64_t entity) { cnrtTaskTopoEntityDestroy((cnrtTaskTopoEntity_t)entity); });
  // Launch a kernel of cnModuleGetKernel on the current stream: a failed launch throws, which must not pass through a caller in C.
  m.def("invoke", [](uint64_t kernel, const std::array<uint32_t, 3> &dim, int kind, const std::vector<pybind11::bytes> &values) {
    std::vector<std::string> held(values.begin(), values.end());
    std::vector<void *> places;
    for (std::string &one : held) places.push_back(one.data());
    checked([&] {
      return mlusim::launch((const void *)kernel, cnrtDim3_t{dim[0], dim[1], dim[2]}, (cnrtFunctionType_t)kind, places.data(), (cnrtQueue_t)queue(), nullptr);
    });
  });
  m.def("describe", &describe);
  // Return the tensor at an address of device 0, whose memory belongs to another owner, with the sizes and the type of `like`.
  m.def("tensor_at", [](uint64_t address, const at::Tensor &like) {
    c10::Device device(MLU, 0);
    return at::for_blob((void *)address, like.sizes()).options(like.options().device(device)).target_device(device).make_tensor();
  });
  m.def("demangle", [](const std::string &symbol) {
    int status = 0;
    char *text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    std::string found = status == 0 ? text : symbol;
    free(text);
    return found;
  });
  m.def("log_fallbacks", &log_fallbacks);
  m.def("fallbacks", &fallbacks);
}
