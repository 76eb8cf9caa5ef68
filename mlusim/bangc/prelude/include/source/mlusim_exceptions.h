// The exceptions of the C++ library.
#pragma once

namespace std {
struct exception {
  exception();
  virtual const char *what() const;
};
struct bad_alloc : exception {};
#define __mlusim_exception__(name_, base_) \
  struct name_ : base_ { \
    name_(const string &); \
    name_(const char *); \
  };
__mlusim_exception__(runtime_error, exception)
__mlusim_exception__(logic_error, exception)
__mlusim_exception__(invalid_argument, logic_error)
__mlusim_exception__(domain_error, logic_error)
__mlusim_exception__(length_error, logic_error)
__mlusim_exception__(out_of_range, logic_error)
__mlusim_exception__(range_error, runtime_error)
__mlusim_exception__(overflow_error, runtime_error)
__mlusim_exception__(underflow_error, runtime_error)
}  // namespace std
