// Pairs, and objects that compare or compute.
#pragma once

namespace std {
template <class A, class B> struct pair {
  typedef A first_type;
  typedef B second_type;
  A first;
  B second;
  pair();
  pair(const A &, const B &);
  template <class C, class D> pair(const pair<C, D> &);
};
template <class A, class B> pair<decay_t<A>, decay_t<B>> make_pair(A &&, B &&);
template <class A, class B> bool operator==(const pair<A, B> &, const pair<A, B> &);
template <class A, class B> bool operator!=(const pair<A, B> &, const pair<A, B> &);
template <class A, class B> bool operator<(const pair<A, B> &, const pair<A, B> &);
template <class A, class B> bool operator>(const pair<A, B> &, const pair<A, B> &);

#define __mlusim_operator__(name_, result_) \
  template <class T = void> struct name_ { \
    result_ operator()(const T &, const T &) const; \
  }; \
  template <> struct name_<void> { \
    template <class T, class B> result_ operator()(const T &, const B &) const; \
  };
__mlusim_operator__(less, bool)
__mlusim_operator__(less_equal, bool)
__mlusim_operator__(greater, bool)
__mlusim_operator__(greater_equal, bool)
__mlusim_operator__(equal_to, bool)
__mlusim_operator__(not_equal_to, bool)
__mlusim_operator__(plus, T)
__mlusim_operator__(minus, T)
__mlusim_operator__(multiplies, T)
__mlusim_operator__(divides, T)
#undef __mlusim_operator__
}  // namespace std
