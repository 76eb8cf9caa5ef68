// Host functions behind one signature, so that they are called by name from another process.
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
// What a check of parameters says: kept, for the caller asks for it behind the call.
__attribute__((weak, visibility("default"))) void __mlusim_refused(const char *what, const char *, int) {
  snprintf(mlusim_refusal, sizeof mlusim_refusal, "%s does not hold", what);
}
// What stands in the place of a body that does not compile.
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
