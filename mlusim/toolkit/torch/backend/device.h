// Shared by the parts of the backend: the simulator as a device of PyTorch.
#pragma once
#include <ATen/ATen.h>

#include <array>
#include <string>

#include "wire.h"

namespace mlusim_torch {

constexpr c10::DeviceType MLU = c10::DeviceType::PrivateUse1;

// Return the simulator's reply; throw an exception with its sentence for a rejected request.
mlusim::Reply asked(Op op, std::initializer_list<uint64_t> words, const std::string &payload = {}, int device = -1);
[[noreturn]] void raise(cnrtRet_t code, const std::string &text);

// Return the handle of this thread's stream of a device, 0 for the default one; -1 is the current device.
uint64_t queue(int device = -1);
void set_queue(uint64_t handle, int device);
int devices();
void check_device(int number);  // throws if there is no such device
bool forked();  // whether this process is a child of one that has used the device

c10::Allocator *allocator();
// Names tensors by their sizes and type during its lifetime: the next allocation has the name.
struct Naming {
  Naming(c10::ScalarType type, c10::IntArrayRef sizes);
  ~Naming();
};
void describe(const at::Tensor &tensor, const std::string &name);
std::string described(c10::ScalarType type, c10::IntArrayRef sizes);
at::Generator new_generator(int device);
const at::Generator &default_generator(int device);
at::Generator host_generator(const at::Generator &found);  // a generator of the CPU for the next operator that draws from the device's
void resize_storage(c10::StorageImpl *storage, size_t bytes);

struct Amount {
  uint64_t now = 0, most = 0, taken = 0, given_back = 0;
  void take(uint64_t n) { now += n, taken += n, most = std::max(most, now); }
  std::array<uint64_t, 4> shown() const { return {now, most, taken, given_back}; }
  void give_back(uint64_t n) { now -= n, given_back += n; }
};
struct MemoryUse {
  Amount bytes, blocks;
  uint64_t refused = 0, allowed = UINT64_MAX;  // number of calls that ran out of memory; the bytes that this process may use
};
MemoryUse &memory_use(int device);
MemoryUse &memory_of(int device);  // throws if there is no such device

void register_hooks();
void log_fallbacks(int mode);
int64_t fallbacks();

}  // namespace mlusim_torch
