// Host functions with a common signature, so that another process can call them by name.
#pragma once
#ifdef __mlusim_native__
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

extern "C" {
__attribute__((weak, visibility("default"))) char mlusim_refusal[1024];
// The result of a check of parameters: stored, because the caller requests it after the call.
__attribute__((weak, visibility("default"))) void __mlusim_refused(const char *what, const char *, int) {
  snprintf(mlusim_refusal, sizeof mlusim_refusal, "%s does not hold", what);
}
// Replaces a body that does not compile.
[[noreturn]] static inline void __mlusim_broken(const char *what) {
  fprintf(stderr, "error: %s\n", what);
  abort();
}
}

namespace mlusim_calls {
typedef void (*Function)(void **arguments, void *result);
template <class A> A &&given(void *at) { return static_cast<A &&>(*(typename std::remove_reference<A>::type *)at); }
template <class R, class... A, size_t... I> void call_with(R (*function)(A...), void **at, void *result, std::index_sequence<I...>) {
  if constexpr (std::is_void<R>::value) function(given<A>(at[I])...);
  else if constexpr (std::is_reference<R>::value) *(const volatile void **)result = &function(given<A>(at[I])...);
  else new (result) R(function(given<A>(at[I])...));
}
template <class R, class... A> void call(R (*function)(A...), void **at, void *result) {
  call_with(function, at, result, std::index_sequence_for<A...>());
}
}  // namespace mlusim_calls
#endif
