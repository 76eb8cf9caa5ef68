// Random number generators of the device `mlu`: a seed and an offset, like those of the card, from which each operator that runs on the CPU gets a
// generator.
#include "device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include <array>
#include <cstring>
#include <map>

namespace mlusim_torch {
namespace {

constexpr uint64_t STEP = 4;  // numbers of one round of Philox, the unit in which programs that draw on the card count offsets
using State = std::array<uint64_t, 2>;  // as bytes: the seed, the offset

// Return a seed for the CPU's generator, which uses 32 bits; without an offset it is the seed itself, so that the first operator draws the same
// numbers as the CPU.
uint64_t mixed(uint64_t seed, uint64_t offset) {
  if (!offset) return seed;
  uint64_t all = seed + offset * 0x9E3779B97F4A7C15;  // the finalizer of SplitMix64
  all = (all ^ (all >> 30)) * 0xBF58476D1CE4E5B9;
  all = (all ^ (all >> 27)) * 0x94D049BB133111EB;
  return (all ^ (all >> 31)) & 0xFFFFFFFF;
}

struct MluGenerator final : c10::GeneratorImpl {
  State state;

  MluGenerator(int device, State begin)
      : c10::GeneratorImpl(c10::Device(MLU, (c10::DeviceIndex)device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), state(begin) {}
  void set_current_seed(uint64_t seed) override { state = {seed, 0}; }
  uint64_t current_seed() const override { return state[0]; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return state[0];
  }
  void set_offset(uint64_t offset) override { state[1] = offset; }
  uint64_t get_offset() const override { return state[1]; }
  void set_state(const c10::TensorImpl &bytes) override {
    at::detail::check_rng_state(bytes);
    TORCH_CHECK((size_t)bytes.numel() == sizeof state, "a state of a generator on mlu is ", sizeof state, " bytes, its seed and its offset, and this one has ",
                bytes.numel(), ": take it from a generator on mlu");
    std::memcpy(state.data(), bytes.data(), sizeof state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor bytes = at::empty({(int64_t)sizeof state}, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
    std::memcpy(bytes.data_ptr(), state.data(), sizeof state);
    return bytes.getIntrusivePtr();
  }

 private:
  MluGenerator *clone_impl() const override { return new MluGenerator(device().index(), state); }
};

}  // namespace

at::Generator new_generator(int device) { return at::make_generator<MluGenerator>(device, State{c10::default_rng_seed_val, 0}); }

const at::Generator &default_generator(int device) {
  static auto *all = new std::map<int, at::Generator>;
  at::Generator &found = (*all)[device];
  if (!found.defined()) found = new_generator(device);
  return found;
}

at::Generator host_generator(const at::Generator &found) {
  auto *held = dynamic_cast<MluGenerator *>(found.unsafeGetGeneratorImpl());
  TORCH_CHECK(held, "Expected a 'mlu' device type for generator but found '", found.device().type(), "'");  // PyTorch's own sentence
  std::lock_guard<std::mutex> locked(held->mutex_);
  const auto [seed, offset] = held->state;
  held->state[1] += STEP;
  return at::make_generator<at::CPUGeneratorImpl>(mixed(seed, offset));
}

}  // namespace mlusim_torch
