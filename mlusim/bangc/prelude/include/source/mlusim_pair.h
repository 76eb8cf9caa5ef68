// Pairs, and function objects for comparisons and arithmetic.
#pragma once

namespace std {
template <class A, class B> struct pair {
  typedef A first_type;
  typedef B second_type;
  A first;
  B second;
  __mlusim_both__ pair() : first(), second() {}
  __mlusim_both__ pair(const A &a, const B &b) : first(a), second(b) {}
  template <class C, class D> __mlusim_both__ pair(const pair<C, D> &other) : first(other.first), second(other.second) {}
};
template <class A, class B> __mlusim_both__ pair<decay_t<A>, decay_t<B>> make_pair(A &&a, B &&b) {
  return pair<decay_t<A>, decay_t<B>>(a, b);
}
template <class A, class B> __mlusim_both__ bool operator==(const pair<A, B> &a, const pair<A, B> &b) {
  return a.first == b.first && a.second == b.second;
}
template <class A, class B> __mlusim_both__ bool operator!=(const pair<A, B> &a, const pair<A, B> &b) { return !(a == b); }
template <class A, class B> __mlusim_both__ bool operator<(const pair<A, B> &a, const pair<A, B> &b) {
  return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
}
template <class A, class B> __mlusim_both__ bool operator>(const pair<A, B> &a, const pair<A, B> &b) { return b < a; }
template <class A, class B> __mlusim_both__ bool operator<=(const pair<A, B> &a, const pair<A, B> &b) { return !(b < a); }
template <class A, class B> __mlusim_both__ bool operator>=(const pair<A, B> &a, const pair<A, B> &b) { return !(a < b); }

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
