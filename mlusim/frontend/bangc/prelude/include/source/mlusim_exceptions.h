// The exceptions of the C++ library, as ordinary sources.
#pragma once

namespace std {
struct exception {
  exception() {}
  virtual const char *what() const { return "std::exception"; }
};
struct bad_alloc : exception {
  const char *what() const { return "std::bad_alloc"; }
};
#define __mlusim_exception__(name_, base_) \
  struct name_ : base_ { \
    name_(const string &s) : base_(s) {} \
    name_(const char *s) : base_(s) {} \
  };
#define __mlusim_exception_of_text__(name_) \
  struct name_ : exception { \
    string text; \
    name_(const string &s) : text(s) {} \
    name_(const char *s) : text(s) {} \
    const char *what() const { return text.c_str(); } \
  };
__mlusim_exception_of_text__(runtime_error)
__mlusim_exception_of_text__(logic_error)
__mlusim_exception__(invalid_argument, logic_error)
__mlusim_exception__(domain_error, logic_error)
__mlusim_exception__(length_error, logic_error)
__mlusim_exception__(out_of_range, logic_error)
__mlusim_exception__(range_error, runtime_error)
__mlusim_exception__(overflow_error, runtime_error)
__mlusim_exception__(underflow_error, runtime_error)
}  // namespace std
