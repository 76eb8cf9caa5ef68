// Pairs, and objects that compare or compute, as ordinary sources.
#pragma once

namespace std {
template <class A, class B> struct pair {
  typedef A first_type;
  typedef B second_type;
  A first;
  B second;
  pair() : first(), second() {}
  pair(const A &a, const B &b) : first(a), second(b) {}
  template <class C, class D> pair(const pair<C, D> &p) : first(p.first), second(p.second) {}
};
template <class A, class B> pair<decay_t<A>, decay_t<B>> make_pair(A &&a, B &&b) {
  return pair<decay_t<A>, decay_t<B>>(a, b);
}
template <class A, class B> bool operator==(const pair<A, B> &p, const pair<A, B> &q) {
  return p.first == q.first && p.second == q.second;
}
template <class A, class B> bool operator!=(const pair<A, B> &p, const pair<A, B> &q) { return !(p == q); }
template <class A, class B> bool operator<(const pair<A, B> &p, const pair<A, B> &q) {
  return p.first < q.first || (!(q.first < p.first) && p.second < q.second);
}
template <class A, class B> bool operator>(const pair<A, B> &p, const pair<A, B> &q) { return q < p; }

#define __mlusim_operator__(name_, op_) \
  template <class T = void> struct name_ { \
    bool operator()(const T &a, const T &b) const { return a op_ b; } \
  }; \
  template <> struct name_<void> { \
    template <class A, class B> bool operator()(const A &a, const B &b) const { return a op_ b; } \
  };
__mlusim_operator__(less, <)
__mlusim_operator__(less_equal, <=)
__mlusim_operator__(greater, >)
__mlusim_operator__(greater_equal, >=)
__mlusim_operator__(equal_to, ==)
__mlusim_operator__(not_equal_to, !=)
#undef __mlusim_operator__
#define __mlusim_operator__(name_, op_) \
  template <class T = void> struct name_ { \
    T operator()(const T &a, const T &b) const { return a op_ b; } \
  }; \
  template <> struct name_<void> { \
    template <class A, class B> auto operator()(const A &a, const B &b) const { return a op_ b; } \
  };
__mlusim_operator__(plus, +)
__mlusim_operator__(minus, -)
__mlusim_operator__(multiplies, *)
__mlusim_operator__(divides, /)
#undef __mlusim_operator__
}  // namespace std
