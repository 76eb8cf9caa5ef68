#include "kernels.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "capture.h"
#include "wire.h"

namespace mlusim {
namespace {

constexpr char MAGIC[] = "MLUSIMR1";  // precedes the length of an image, u64, and its bytes

struct Wrapper {  // the structure that clang registers
  int magic, version;
  const char *data;
  void *unused;
};
struct Registered {
  size_t image;
  const void *stub;
  std::string symbol;
};
struct Variable {
  size_t image;
  std::string name;
  size_t bytes;
};
struct Known {  // the simulator's data about a kernel
  std::vector<uint32_t> sizes;
  bool prints = false;
  std::set<std::tuple<unsigned, unsigned, unsigned, int, int>> launched;  // the grids, types and devices with which it was launched successfully
};
constexpr size_t MOST_LAUNCHED = 1024;
struct Kernels {
  std::mutex lock;
  std::vector<const char *> images;
  std::vector<uint64_t> numbers;  // their numbers in the simulator
  std::vector<Registered> kernels;
  size_t told_images = 0, told_kernels = 0;
  std::map<const void *, Known> known;
  std::map<const void *, Variable> variables;  // by their address on the host
};

Kernels &all() {
  static Kernels *one = new Kernels;  // constructors of other files run before ours
  return *one;
}

struct Configuration {
  cnrtDim3_t dim;
  cnrtFunctionType_t kind;
  cnrtQueue_t queue;
  void *caller;
};
thread_local std::vector<Configuration> configurations;
thread_local void *launching = nullptr;  // the address of the launch whose stub runs

bool sizes_of(const void *stub, cnrtQueue_t queue, void *caller, std::vector<uint32_t> &sizes, cnrtRet_t &code) {
  {
    std::lock_guard<std::mutex> held(all().lock);
    auto found = all().known.find(stub);
    if (found != all().known.end()) {
      sizes = found->second.sizes;
      return true;
    }
  }
  Reply reply = ask(OP_SIZES, {(uint64_t)stub, (uint64_t)queue}, caller);
  code = reply.code;
  if (code != cnrtSuccess) return false;
  sizes.resize(reply.data.size() / 4);
  memcpy(sizes.data(), reply.data.data(), 4 * sizes.size());
  std::lock_guard<std::mutex> held(all().lock);
  all().known[stub] = {sizes, reply.value != 0, {}};
  return true;
}

// Launch a kernel in a queue. After one successful launch of a kind, later ones get no reply: a card also reports their errors later.
cnrtRet_t launched(const void *stub, cnrtDim3_t dim, cnrtFunctionType_t kind, const std::string &bytes, cnrtQueue_t queue, void *caller) {
  const std::initializer_list<uint64_t> words = {(uint64_t)stub, dim.x | (uint64_t)dim.y << 32, dim.z | (uint64_t)kind << 32, (uint64_t)queue};
  const std::tuple<unsigned, unsigned, unsigned, int, int> shape{dim.x, dim.y, dim.z, kind, current_device()};
  bool again = gives();
  {
    std::lock_guard<std::mutex> held(all().lock);
    auto known = all().known.find(stub);
    if (known == all().known.end() || !known->second.launched.count(shape)) again = false;
  }
  if (again && give(words, caller, bytes.data(), bytes.size())) return cnrtSuccess;
  cnrtRet_t code = ask(OP_LAUNCH, words, caller, bytes.data(), bytes.size()).code;
  std::lock_guard<std::mutex> held(all().lock);
  auto known = all().known.find(stub);
  if (code == cnrtSuccess && known != all().known.end() && !known->second.prints && known->second.launched.size() < MOST_LAUNCHED)
    known->second.launched.insert(shape);
  return code;
}

}  // namespace

void tell_kernels(const Teller &tell) {
  Kernels &k = all();
  if (k.told_images == k.images.size() && k.told_kernels == k.kernels.size()) return;
  std::lock_guard<std::mutex> held(k.lock);
  for (; k.told_images < k.images.size(); ++k.told_images) {
    const char *data = k.images[k.told_images];
    uint64_t length = 0;
    if (data && memcmp(data, MAGIC, 8) == 0) memcpy(&length, data + 8, 8);
    k.numbers.push_back(tell(OP_IMAGE, {}, length ? data + 16 : nullptr, length));
  }
  for (; k.told_kernels < k.kernels.size(); ++k.told_kernels) {
    const Registered &one = k.kernels[k.told_kernels];
    tell(OP_KERNEL, {k.numbers[one.image], (uint64_t)one.stub}, one.symbol.data(), one.symbol.size());
  }
}

size_t load_module(const char *data, size_t bytes) {
  uint64_t length = 0;
  if (bytes < 16 || memcmp(data, MAGIC, 8) != 0) return 0;
  memcpy(&length, data + 8, 8);
  if (length > bytes - 16) return 0;
  char *own = new char[16 + length];  // the simulator may get it later, and again in a child
  memcpy(own, data, 16 + length);
  std::lock_guard<std::mutex> held(all().lock);
  all().images.push_back(own);
  return all().images.size();
}

cnrtRet_t find_kernel(size_t module, const char *name, const void **kernel, void *caller) {
  const void *stub = nullptr;
  {
    std::lock_guard<std::mutex> held(all().lock);
    for (const Registered &one : all().kernels)
      if (one.image == module - 1 && one.symbol == name) stub = one.stub;
    if (!stub) all().kernels.push_back({module - 1, stub = new char, name});
  }
  std::vector<uint32_t> sizes;
  cnrtRet_t code = cnrtSuccess;
  if (!sizes_of(stub, (cnrtQueue_t)EVERY, caller, sizes, code)) return done(code);
  *kernel = stub;
  return cnrtSuccess;
}

// A variable that no compiler registers: the simulator finds its name among the symbols of its file.
static cnrtRet_t find_constant(const void *symbol, uint64_t *address, size_t *bytes, void *caller, const char *call) {
  Dl_info info{};
  link_map *file = nullptr;
  char path[PATH_MAX];
  // The program itself has no name in the list of files, and the name in info is the one by which it was called, which may be another file's.
  if (!dladdr1(symbol, &info, (void **)&file, RTLD_DL_LINKMAP) || !realpath(file->l_name[0] ? file->l_name : "/proc/self/exe", path))
    return refuse(cnrtErrorInvalidSymbol, caller, std::string(call) + " is given no variable of the program");
  ask(OP_DEVICES);  // the images are known after this
  Reply reply = ask(OP_CONSTANT, {(uint64_t)symbol - (uint64_t)info.dli_fbase}, caller, path, strlen(path));
  if (address) *address = reply.value;
  if (bytes && reply.data.size() == sizeof *bytes) memcpy(bytes, reply.data.data(), sizeof *bytes);
  return done(reply.code);
}

cnrtRet_t find_symbol(const void *symbol, uint64_t *address, size_t *bytes, void *caller, const char *call) {
  Variable found{};
  {
    std::lock_guard<std::mutex> held(all().lock);
    auto there = all().variables.find(symbol);
    if (there != all().variables.end()) found = there->second;
  }
  if (found.name.empty()) return find_constant(symbol, address, bytes, caller, call);
  if (bytes) *bytes = found.bytes;
  if (!address) return cnrtSuccess;
  ask(OP_DEVICES);  // the images are known after this
  Reply reply = ask(OP_SYMBOL, {all().numbers[found.image]}, caller, found.name.data(), found.name.size());
  *address = reply.value;
  return done(reply.code);
}

void forget_told() {
  Kernels &k = all();
  new (&k.lock) std::mutex;
  k.told_images = k.told_kernels = 0;
  k.numbers.clear();
  k.known.clear();
}

// Run *given*, which launches in a queue; an error becomes the last error, an error of the queue, or an exception of a library.
template <class Given> static cnrtRet_t launching_in(cnrtQueue_t queue, const Given &given) {
  wait_for_host_functions();
  if (Trapped call = trapped()) {
    Heard heard;
    cnrtRet_t code = given();
    if (code != cnrtSuccess) {
      ask(OP_SYNC, {(uint64_t)queue, 1});  // reported once: the queue goes on
      call(code, heard.text);
    }
    return code;
  }
  cnrtRet_t code = done(given());
  return code == cnrtErrorKernelTrap ? cnrtSuccess : code;  // on a card the kernel runs later: cnrtGetLastError and the next sync report the error
}

static cnrtRet_t launch_bytes(const void *stub, cnrtDim3_t dim, cnrtFunctionType_t kind, const std::string &bytes, cnrtQueue_t queue, void *caller) {
  auto later = [=](uint64_t by) { return launching_in((cnrtQueue_t)by, [&] { return launch_bytes(stub, dim, kind, bytes, (cnrtQueue_t)by, caller); }); };
  if (capturing((uint64_t)queue) && captured((uint64_t)queue, later)) return cnrtSuccess;
  return launched(stub, dim, kind, bytes, queue, caller);
}

static cnrtRet_t not_launched(cnrtQueue_t queue, void *caller, const std::string &sentence) {
  ask(OP_REFUSED, {1, (uint64_t)queue, cnrtErrorArgsInvalid}, caller, sentence.data(), sentence.size());
  return cnrtErrorArgsInvalid;
}

cnrtRet_t launch(const void *stub, cnrtDim3_t dim, cnrtFunctionType_t kind, void **args, cnrtQueue_t queue, void *caller) {
  tell_launch();
  return launching_in(queue, [&] {
    std::vector<uint32_t> sizes;
    cnrtRet_t code = cnrtSuccess;
    if (!sizes_of(stub, queue, caller, sizes, code)) return code;
    std::string bytes;
    for (size_t i = 0; i < sizes.size(); ++i) bytes.append((const char *)args[i], sizes[i]);
    return launch_bytes(stub, dim, kind, bytes, queue, caller);
  });
}

}  // namespace mlusim

using namespace mlusim;

#pragma GCC visibility push(default)
extern "C" {

void **__cudaRegisterFatBinary(void *wrapper) {
  std::lock_guard<std::mutex> held(all().lock);
  all().images.push_back(((Wrapper *)wrapper)->data);
  return (void **)all().images.size();
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **handle) {  // unsent launches are lost with their library
  std::lock_guard<std::mutex> held(all().lock);
  all().images[(size_t)handle - 1] = nullptr;
}
void __cudaRegisterVar(void **handle, char *host, char *, const char *name, int, size_t bytes, int, int) {
  std::lock_guard<std::mutex> held(all().lock);
  all().variables[host] = {(size_t)handle - 1, name, bytes};
}

void __bangRegisterFunction(void **handle, const char *stub, char *, const char *name, int, cnrtDim3_t *, cnrtDim3_t *, int *) {
  std::lock_guard<std::mutex> held(all().lock);
  all().kernels.push_back({(size_t)handle - 1, stub, name});
  all().known.erase(stub);  // of an unloaded library, whose address another one has
}

unsigned __cudaPushCallConfiguration(cnrtDim3_t dim, cnrtFunctionType_t kind, cnrtQueue_t queue) {
  configurations.push_back({dim, kind, queue, CALLER});
  return 0;
}
unsigned __cudaPopCallConfiguration(cnrtDim3_t *dim, cnrtDim3_t *block, size_t *shared, void *queue) {
  Configuration given = configurations.back();
  configurations.pop_back();
  *dim = given.dim;
  *block = {(unsigned)given.kind, 1, 1};
  *shared = 0;
  *(cnrtQueue_t *)queue = given.queue;
  launching = given.caller;
  return 0;
}

// The same for files linked with --wrap: PyTorch for CUDA has a run-time with the same names, which is loaded first.
#define MLUSIM_WRAPPED(name) __attribute__((alias(#name))) decltype(name) __wrap_##name;
MLUSIM_WRAPPED(__cudaRegisterFatBinary)
MLUSIM_WRAPPED(__cudaRegisterFatBinaryEnd)
MLUSIM_WRAPPED(__cudaUnregisterFatBinary)
MLUSIM_WRAPPED(__cudaRegisterVar)
MLUSIM_WRAPPED(__cudaPushCallConfiguration)
MLUSIM_WRAPPED(__cudaPopCallConfiguration)

cnrtRet_t cnrtInvokeKernel(const void *stub, cnrtDim3_t dim, cnrtFunctionType_t kind, void **args, size_t, cnrtQueue_t queue) {
  void *caller = launching ? launching : CALLER;
  launching = nullptr;
  return launch(stub, dim, kind, args, queue, caller);
}

// ---- launches of older drivers -----------------------------------------------------------------
struct cnrtKernelParamsBuffer {
  std::vector<std::string> params;
};
struct cnrtKernelInitParam {};

cnrtRet_t cnrtGetKernelParamsBuffer(cnrtKernelParamsBuffer_t *params) {
  *params = new cnrtKernelParamsBuffer;
  return cnrtSuccess;
}
cnrtRet_t cnrtKernelParamsBufferAddParam(cnrtKernelParamsBuffer_t params, void *data, size_t bytes) {
  if (!params || !data) return refuse(cnrtErrorArgsInvalid, CALLER, "cnrtKernelParamsBufferAddParam is given a null pointer");
  params->params.emplace_back((const char *)data, bytes);
  return cnrtSuccess;
}
cnrtRet_t cnrtKernelParamsBufferMarkParam(cnrtKernelParamsBuffer_t) { return cnrtSuccess; }
cnrtRet_t cnrtDestroyKernelParamsBuffer(cnrtKernelParamsBuffer_t params) {
  delete params;
  return cnrtSuccess;
}
cnrtRet_t cnrtCreateKernelInitParam(cnrtKernelInitParam_t *param) {
  *param = new cnrtKernelInitParam;
  return cnrtSuccess;
}
cnrtRet_t cnrtInitKernelMemory(const void *, cnrtKernelInitParam_t) { return cnrtSuccess; }
cnrtRet_t cnrtDestroyKernelInitParamAndMemory(cnrtKernelInitParam_t param) {
  delete param;
  return cnrtSuccess;
}
static cnrtRet_t invoke_older(const void *stub, cnrtDim3_t dim, cnrtKernelParamsBuffer_t params, cnrtFunctionType_t kind, cnrtQueue_t queue, void *caller) {
  return launching_in(queue, [&] {
    std::vector<uint32_t> sizes;
    cnrtRet_t code = cnrtSuccess;
    if (!sizes_of(stub, queue, caller, sizes, code)) return code;
    size_t count = params ? params->params.size() : 0;
    if (count != sizes.size())
      return not_launched(queue, caller, "the kernel takes " + std::to_string(sizes.size()) + " parameters and its buffer has " + std::to_string(count));
    std::string bytes;
    for (size_t i = 0; i < count; ++i) {
      std::string one = params->params[i];
      if (one.size() != sizes[i] && !(one.size() < sizes[i] && sizes[i] == 8))
        return not_launched(queue, caller,
                            "parameter " + std::to_string(i) + " of the kernel has " + std::to_string(sizes[i]) + " bytes and was added with " + std::to_string(one.size()));
      one.resize(sizes[i]);
      bytes += one;
    }
    return launch_bytes(stub, dim, kind, bytes, queue, caller);
  });
}
cnrtRet_t cnrtInvokeKernel_V2(const void *stub, cnrtDim3_t dim, cnrtKernelParamsBuffer_t params, cnrtFunctionType_t kind, cnrtQueue_t queue) {
  return invoke_older(stub, dim, params, kind, queue, CALLER);
}
cnrtRet_t cnrtInvokeKernel_V3(const void *stub, cnrtKernelInitParam_t, cnrtDim3_t dim, cnrtKernelParamsBuffer_t params, cnrtFunctionType_t kind, cnrtQueue_t queue, void *) {
  return invoke_older(stub, dim, params, kind, queue, CALLER);
}
}
#pragma GCC visibility pop
