// Generators of random numbers of the device `mlu`: each holds one of the CPU, which draws the numbers of the operators that the CPU runs.
#include "device.h"

#include <ATen/CPUGeneratorImpl.h>

#include <map>

namespace mlusim_torch {
namespace {

struct MluGenerator final : c10::GeneratorImpl {
  at::Generator host;

  MluGenerator(int device, at::Generator held)
      : c10::GeneratorImpl(c10::Device(MLU, (c10::DeviceIndex)device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), host(std::move(held)) {}
  void set_current_seed(uint64_t seed) override { host.set_current_seed(seed); }
  uint64_t current_seed() const override { return host.current_seed(); }
  uint64_t seed() override { return host.seed(); }
  void set_offset(uint64_t offset) override { host.set_offset(offset); }
  uint64_t get_offset() const override { return host.get_offset(); }
  void set_state(const c10::TensorImpl &state) override { host.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return host.unsafeGetGeneratorImpl()->get_state(); }

 private:
  MluGenerator *clone_impl() const override { return new MluGenerator(device().index(), host.clone()); }
};

}  // namespace

at::Generator new_generator(int device) {
  return at::make_generator<MluGenerator>(device, at::make_generator<at::CPUGeneratorImpl>(c10::default_rng_seed_val));
}

const at::Generator &default_generator(int device) {
  static auto *all = new std::map<int, at::Generator>;
  at::Generator &found = (*all)[device];
  if (!found.defined()) found = new_generator(device);
  return found;
}

at::Generator host_generator(const at::Generator &found) {
  auto *held = dynamic_cast<MluGenerator *>(found.unsafeGetGeneratorImpl());
  TORCH_CHECK(held, "Expected a 'mlu' device type for generator but found '", found.device().type(), "'");  // as PyTorch says it
  return held->host;
}

}  // namespace mlusim_torch
