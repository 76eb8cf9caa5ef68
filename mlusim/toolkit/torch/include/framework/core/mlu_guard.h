// Guards that make a device, or a stream of one, current for a block.
#pragma once
#include <c10/core/DeviceGuard.h>

#include "framework/core/MLUStream.h"

namespace torch_mlu {
namespace mlu {

// The device, as a number or a device of PyTorch.
struct MLUGuard {
  MLUGuard() = delete;
  explicit MLUGuard(c10::DeviceIndex index) : guard_(c10::Device(c10::DeviceType::PrivateUse1, index)) {}
  explicit MLUGuard(c10::Device device) : guard_(device) {}
  void set_device(c10::Device device) { guard_.set_index(device.index()); }
  void reset_device(c10::Device device) { guard_.reset_device(device); }
  void set_index(c10::DeviceIndex index) { guard_.set_index(index); }
  c10::Device original_device() const { return guard_.original_device(); }
  c10::Device current_device() const { return guard_.current_device(); }

 private:
  c10::DeviceGuard guard_;
};

struct OptionalMLUGuard {
  OptionalMLUGuard() = default;
  explicit OptionalMLUGuard(std::optional<c10::Device> device) : guard_(device) {}
  explicit OptionalMLUGuard(std::optional<c10::DeviceIndex> index) {
    if (index) set_index(*index);
  }
  void set_device(c10::Device device) { guard_.reset_device(device); }
  void reset_device(c10::Device device) { guard_.reset_device(device); }
  void set_index(c10::DeviceIndex index) { guard_.reset_device(c10::Device(c10::DeviceType::PrivateUse1, index)); }
  std::optional<c10::Device> original_device() const { return guard_.original_device(); }
  std::optional<c10::Device> current_device() const { return guard_.current_device(); }

 private:
  c10::OptionalDeviceGuard guard_;
};

// The stream, and its device.
struct MLUStreamGuard {
  explicit MLUStreamGuard(c10::Stream stream) : device_(stream.device()), before_(getCurrentMLUStream(stream.device_index())), now_(stream) {
    setCurrentMLUStream(now_);
  }
  ~MLUStreamGuard() { setCurrentMLUStream(before_); }
  MLUStreamGuard(const MLUStreamGuard &) = delete;
  MLUStreamGuard &operator=(const MLUStreamGuard &) = delete;
  MLUStream current_stream() const { return now_; }
  MLUStream original_stream() const { return before_; }
  c10::Device current_device() const { return device_.current_device(); }
  c10::Device original_device() const { return device_.original_device(); }

 private:
  c10::DeviceGuard device_;
  MLUStream before_, now_;
};

}  // namespace mlu
}  // namespace torch_mlu
