// Pointers that own what they point to.
#pragma once

#define __mlusim_owner__(name_) \
  template <class T> struct name_ { \
    typedef remove_extent_t<T> element_type; \
    name_(); \
    name_(decltype(nullptr)); \
    explicit name_(element_type *); \
    template <class U> name_(const name_<U> &); \
    element_type &operator*() const; \
    element_type *operator->() const; \
    element_type &operator[](size_t) const; \
    element_type *get() const; \
    operator bool() const; \
    void reset(element_type * = nullptr); \
    element_type *release(); \
  };

namespace std {
__mlusim_owner__(unique_ptr)
__mlusim_owner__(shared_ptr)
template <class T, class... A> unique_ptr<T> make_unique(A &&...);
template <class T, class... A> shared_ptr<T> make_shared(A &&...);
}  // namespace std
