// Streams of the device `mlu`: each is a queue of the driver.
#pragma once
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cnrt.h>

namespace torch_mlu {

class MLUStream {
 public:
  explicit MLUStream(c10::Stream stream) : stream_(stream) {}
  operator cnrtQueue_t() const { return stream(); }
  operator c10::Stream() const { return stream_; }
  cnrtQueue_t stream() const { return (cnrtQueue_t)stream_.id(); }
  cnrtQueue_t queue() const { return stream(); }
  c10::DeviceIndex device_index() const { return stream_.device_index(); }
  c10::Device device() const { return stream_.device(); }
  c10::StreamId id() const { return stream_.id(); }
  c10::Stream unwrap() const { return stream_; }
  bool query() const { return true; }
  void synchronize() const { stream_.synchronize(); }
  bool operator==(const MLUStream &other) const { return stream_ == other.stream_; }
  bool operator!=(const MLUStream &other) const { return stream_ != other.stream_; }

 private:
  c10::Stream stream_;
};

inline MLUStream getCurrentMLUStream(c10::DeviceIndex index = -1) {
  c10::impl::VirtualGuardImpl guard(c10::DeviceType::PrivateUse1);
  return MLUStream(guard.getStream(index < 0 ? guard.getDevice() : c10::Device(c10::DeviceType::PrivateUse1, index)));
}
inline MLUStream getCurMLUStream(c10::DeviceIndex index = -1) { return getCurrentMLUStream(index); }
inline MLUStream getDefaultMLUStream(c10::DeviceIndex index = -1) {
  c10::impl::VirtualGuardImpl guard(c10::DeviceType::PrivateUse1);
  return MLUStream(guard.getDefaultStream(index < 0 ? guard.getDevice() : c10::Device(c10::DeviceType::PrivateUse1, index)));
}
inline MLUStream getStreamFromPool(bool high = false, c10::DeviceIndex index = -1) {
  c10::impl::VirtualGuardImpl guard(c10::DeviceType::PrivateUse1);
  return MLUStream(guard.getStreamFromGlobalPool(index < 0 ? guard.getDevice() : c10::Device(c10::DeviceType::PrivateUse1, index), high));
}
inline void setCurrentMLUStream(MLUStream stream) { c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).exchangeStream(stream.unwrap()); }
inline cnrtQueue_t getCurQueue(c10::DeviceIndex index = -1) { return getCurrentMLUStream(index).stream(); }
inline cnrtQueue_t getCurrentQueue(c10::DeviceIndex index = -1) { return getCurrentMLUStream(index).stream(); }

}  // namespace torch_mlu
