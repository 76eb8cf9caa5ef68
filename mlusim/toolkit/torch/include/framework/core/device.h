// The current device.
#pragma once
#include <c10/core/impl/VirtualGuardImpl.h>

namespace torch_mlu {
inline c10::DeviceIndex current_device() { return c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).getDevice().index(); }
inline c10::DeviceIndex device_count() { return c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).deviceCount(); }
inline void setDevice(c10::DeviceIndex index) { c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).setDevice(c10::Device(c10::DeviceType::PrivateUse1, index)); }
}  // namespace torch_mlu
