// Tuples, optionals and variants.
#pragma once

namespace std {
template <class T, T... N> struct integer_sequence {
  static constexpr size_t size() { return sizeof...(N); }
};
template <class T, T N> using make_integer_sequence = __make_integer_seq<integer_sequence, T, N>;
template <size_t... N> using index_sequence = integer_sequence<size_t, N...>;
template <size_t N> using make_index_sequence = make_integer_sequence<size_t, N>;
template <class... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;

template <class T> struct tuple_size;
template <class T, class = size_t> struct size_of_const_ {};  // a type without a size has no member `value`
template <class T> struct size_of_const_<T, decltype(size_t(tuple_size<T>::value))> : integral_constant<size_t, tuple_size<T>::value> {};
template <class T> struct tuple_size<const T> : size_of_const_<T> {};
template <class T> inline constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t N, class T> struct tuple_element;
template <size_t N, class T> struct tuple_element<N, const T> {
  typedef const typename tuple_element<N, T>::type type;
};
template <size_t N, class T> using tuple_element_t = typename tuple_element<N, T>::type;

template <class... T> struct tuple {
  tuple();
  tuple(const T &...);
  template <class... U, class = enable_if_t<sizeof...(U) == sizeof...(T)>> tuple(const tuple<U...> &);
  template <class A, class B> tuple(const pair<A, B> &);
  tuple &operator=(const tuple &);
  template <class... U> tuple &operator=(const tuple<U...> &);
  template <class A, class B> tuple &operator=(const pair<A, B> &);
};
template <> struct tuple<> {};
#if __cplusplus >= 201703L
template <class... T> tuple(T...) -> tuple<T...>;
#endif
template <class... T> struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <size_t N, class F, class... R> struct tuple_element<N, tuple<F, R...>> : tuple_element<N - 1, tuple<R...>> {};
template <class F, class... R> struct tuple_element<0, tuple<F, R...>> {
  typedef F type;
};
template <class A, class B> struct tuple_size<pair<A, B>> : integral_constant<size_t, 2> {};
template <size_t N, class A, class B> struct tuple_element<N, pair<A, B>> : tuple_element<N, tuple<A, B>> {};
#define __mlusim_get__(name_) \
  template <size_t N, class... T> tuple_element_t<N, tuple<T...>> &get(name_<T...> &); \
  template <size_t N, class... T> const tuple_element_t<N, tuple<T...>> &get(const name_<T...> &); \
  template <size_t N, class... T> tuple_element_t<N, tuple<T...>> &&get(name_<T...> &&); \
  template <class U, class... T> U &get(name_<T...> &); \
  template <class U, class... T> const U &get(const name_<T...> &);
__mlusim_get__(tuple)
template <size_t N> struct pair_part_ {
  template <class P> static __mlusim_both__ auto of(P &p) -> decltype((p.second)) { return p.second; }
};
template <> struct pair_part_<0> {
  template <class P> static __mlusim_both__ auto of(P &p) -> decltype((p.first)) { return p.first; }
};
template <size_t N, class A, class B> __mlusim_both__ tuple_element_t<N, pair<A, B>> &get(pair<A, B> &p) {
  return pair_part_<N>::of(p);
}
template <size_t N, class A, class B> __mlusim_both__ const tuple_element_t<N, pair<A, B>> &get(const pair<A, B> &p) {
  return pair_part_<N>::of(p);
}
template <size_t N, class A, class B> __mlusim_both__ tuple_element_t<N, pair<A, B>> &&get(pair<A, B> &&p) {
  return static_cast<tuple_element_t<N, pair<A, B>> &&>(pair_part_<N>::of(p));
}
template <class U, class B> __mlusim_both__ U &get(pair<U, B> &p) { return p.first; }
template <class U, class B> __mlusim_both__ const U &get(const pair<U, B> &p) { return p.first; }
template <class U, class A> __mlusim_both__ U &get(pair<A, U> &p) { return p.second; }
template <class U, class A> __mlusim_both__ const U &get(const pair<A, U> &p) { return p.second; }
template <class... T> tuple<decay_t<T>...> make_tuple(T &&...);
template <class... T> tuple<T &...> tie(T &...);
template <class... T, class... U> bool operator==(const tuple<T...> &, const tuple<U...> &);
template <class... T, class... U> bool operator!=(const tuple<T...> &, const tuple<U...> &);
template <class... T, class... U> bool operator<(const tuple<T...> &, const tuple<U...> &);
#if __cplusplus >= 201703L
template <class C, class... T> auto apply(C call, tuple<T...>) { return call(declval<T &>()...); }

struct nullopt_t {};
inline constexpr nullopt_t nullopt{};
struct bad_optional_access : exception {};
template <class T> struct optional {
  typedef T value_type;
  optional();
  optional(nullopt_t);
  optional(const T &);
  template <class U, class = enable_if_t<is_constructible<T, U>::value && !is_same<decay_t<U>, T>::value &&
                                         !is_same<decay_t<U>, optional>::value>>
  optional(U &&);
  bool has_value() const;
  explicit operator bool() const;
  T &value();
  const T &value() const;
  T value_or(const T &) const;
  T &operator*();
  const T &operator*() const;
  T *operator->();
  const T *operator->() const;
  void reset();
  template <class... A> T &emplace(A &&...);
};
template <class T> optional(T) -> optional<T>;
template <class T> optional<decay_t<T>> make_optional(T &&);
template <class T> bool operator==(const optional<T> &, nullopt_t);
template <class T> bool operator!=(const optional<T> &, nullopt_t);
template <class T> bool operator==(const optional<T> &, const T &);
template <class T> bool operator==(const optional<T> &, const optional<T> &);

struct monostate {};
struct bad_variant_access : exception {};
template <class... T> struct variant {
  variant();
  template <class U, class = enable_if_t<!is_same<decay_t<U>, variant>::value>> variant(U &&);
  size_t index() const;
  bool valueless_by_exception() const;
  template <size_t N, class... A> tuple_element_t<N, tuple<T...>> &emplace(A &&...);
  template <class U, class... A> U &emplace(A &&...);
};
template <class T> struct variant_size;
template <class... T> struct variant_size<variant<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <size_t N, class T> struct variant_alternative;
template <size_t N, class... T> struct variant_alternative<N, variant<T...>> : tuple_element<N, tuple<T...>> {};
template <size_t N, class T> using variant_alternative_t = typename variant_alternative<N, T>::type;
__mlusim_get__(variant)
#undef __mlusim_get__
template <size_t N, class... T> tuple_element_t<N, tuple<T...>> *get_if(variant<T...> *);
template <class U, class... T> U *get_if(variant<T...> *);
template <class U, class... T> bool holds_alternative(const variant<T...> &);
template <class C, class F, class... R> auto visit(C call, const variant<F, R...> &) {
  ((void)call(declval<const R &>()), ...);
  return call(declval<const F &>());
}
#endif
}  // namespace std
