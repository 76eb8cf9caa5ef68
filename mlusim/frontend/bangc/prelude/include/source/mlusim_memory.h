// Pointers that own what they point to, as ordinary sources; nothing happens where they end.
#pragma once

#define __mlusim_owner__(name_) \
  template <class T> struct name_ { \
    typedef T element_type; \
    T *held; \
    name_() : held(nullptr) {} \
    name_(decltype(nullptr)) : held(nullptr) {} \
    explicit name_(T *p) : held(p) {} \
    template <class U> name_(const name_<U> &p) : held(p.get()) {} \
    T &operator*() const { return *held; } \
    T *operator->() const { return held; } \
    T *get() const { return held; } \
    operator bool() const { return held != nullptr; } \
    void reset(T *p = nullptr) { held = p; } \
    T *release() { \
      T *p = held; \
      held = nullptr; \
      return p; \
    } \
  }; \
  template <class T> struct name_<T[]> { \
    typedef T element_type; \
    T *held; \
    name_() : held(nullptr) {} \
    explicit name_(T *p) : held(p) {} \
    T &operator[](size_t n) const { return held[n]; } \
    T *get() const { return held; } \
    operator bool() const { return held != nullptr; } \
    void reset(T *p = nullptr) { held = p; } \
  };

// They show what the parser does not of a template's class: its destructor, and what loops over its elements call.
template <class T> void __mlusim_end(T *p) { p->~T(); }
template <class T> auto __mlusim_begin(T *p) { return p->begin(); }
template <class T> auto __mlusim_stop(T *p) { return p->end(); }

namespace std {
__mlusim_owner__(unique_ptr)
__mlusim_owner__(shared_ptr)
template <class P> struct __mlusim_owned {
  template <class... A> static P one(A &&... a) { return P(new typename P::element_type(a...)); }
};
template <class T> struct __mlusim_owned<unique_ptr<T[]>> {
  static unique_ptr<T[]> one(size_t n) { return unique_ptr<T[]>(new T[n]()); }
};
template <class T, class... A> unique_ptr<T> make_unique(A &&... a) {
  return __mlusim_owned<unique_ptr<T>>::one(a...);
}
template <class T, class... A> shared_ptr<T> make_shared(A &&... a) {
  return __mlusim_owned<shared_ptr<T>>::one(a...);
}
}  // namespace std
