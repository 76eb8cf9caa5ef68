// What the parts of the backend share: the simulator as a device of PyTorch.
#pragma once
#include <ATen/ATen.h>

#include <string>

#include "wire.h"

namespace mlusim_torch {

constexpr c10::DeviceType MLU = c10::DeviceType::PrivateUse1;

// The simulator's answer; what it refuses is an exception with its sentence.
mlusim::Reply asked(Op op, std::initializer_list<uint64_t> words, const std::string &payload = {}, int device = -1);
[[noreturn]] void raise(cnrtRet_t code, const std::string &text);

uint64_t queue();  // the handle of this thread's stream, 0 for the usual one
void set_queue(uint64_t handle);
int devices();
void check_device(int number);  // throws where there is no such device
bool forked();  // whether this process is a child of one that has used the device

c10::Allocator *allocator();
// What tensors of sizes and type are called while one lives: the next allocation has the name.
struct Naming {
  Naming(c10::ScalarType type, c10::IntArrayRef sizes);
  ~Naming();
};
void describe(const at::Tensor &tensor, const std::string &name);
std::string described(c10::ScalarType type, c10::IntArrayRef sizes);
void resize_storage(c10::StorageImpl *storage, size_t bytes);

struct MemoryUse {
  uint64_t now = 0, most = 0, calls = 0;
};
MemoryUse &memory_use(int device);

void register_hooks();
void log_fallbacks(int mode);
int64_t fallbacks();

}  // namespace mlusim_torch
