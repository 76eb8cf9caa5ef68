// Tuples, optionals and variants, as ordinary sources; an alternative that is not held has a place, too.
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
template <class T> struct tuple_size<const T> : tuple_size<T> {};
template <class T> inline constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t N, class T> struct tuple_element;
template <size_t N, class T> struct tuple_element<N, const T> {
  typedef const typename tuple_element<N, T>::type type;
};
template <size_t N, class T> using tuple_element_t = typename tuple_element<N, T>::type;

template <class U, class F, class... R> constexpr size_t __mlusim_place() {
  if constexpr (is_same<U, F>::value) return 0;
  else return 1 + __mlusim_place<U, R...>();
}
template <class U, class F, class... R> constexpr size_t __mlusim_takes() {
  if constexpr (is_same<decay_t<U>, F>::value) return 0;
  else if constexpr (sizeof...(R) == 0) return 0;
  else if constexpr (__mlusim_any_same<decay_t<U>, R...>::value) return 1 + __mlusim_takes<U, R...>();
  else if constexpr (is_constructible<F, U>::value) return 0;
  else return 1 + __mlusim_takes<U, R...>();
}

// Structured bindings know these two members.
template <class... T> struct tuple {};
template <class F, class... R> struct tuple<F, R...> {
  F first;
  tuple<R...> rest;
  tuple() : first(), rest() {}
  tuple(const F &f, const R &... r) : first(f), rest(r...) {}
  template <class G, class... S, class = enable_if_t<sizeof...(S) == sizeof...(R)>>
  tuple(const tuple<G, S...> &other) : first(other.first), rest(other.rest) {}
  template <class A, class B> tuple(const pair<A, B> &p) : first(p.first), rest(p.second) {}
  tuple &operator=(const tuple &other) {
    first = other.first;
    rest = other.rest;
    return *this;
  }
  template <class G, class... S> tuple &operator=(const tuple<G, S...> &other) {
    first = other.first;
    rest = other.rest;
    return *this;
  }
  template <class A, class B> tuple &operator=(const pair<A, B> &p) {
    first = p.first;
    rest.first = p.second;
    return *this;
  }
};
template <class... T> tuple(T...) -> tuple<T...>;
template <class... T> struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <size_t N, class F, class... R> struct tuple_element<N, tuple<F, R...>> : tuple_element<N - 1, tuple<R...>> {};
template <class F, class... R> struct tuple_element<0, tuple<F, R...>> {
  typedef F type;
};
template <class A, class B> struct tuple_size<pair<A, B>> : integral_constant<size_t, 2> {};
template <class A, class B> struct tuple_element<0, pair<A, B>> {
  typedef A type;
};
template <class A, class B> struct tuple_element<1, pair<A, B>> {
  typedef B type;
};
template <size_t N, class F, class... R> tuple_element_t<N, tuple<F, R...>> &get(tuple<F, R...> &t) {
  if constexpr (N == 0) return t.first;
  else return get<N - 1>(t.rest);
}
template <size_t N, class F, class... R> const tuple_element_t<N, tuple<F, R...>> &get(const tuple<F, R...> &t) {
  if constexpr (N == 0) return t.first;
  else return get<N - 1>(t.rest);
}
template <size_t N, class F, class... R> tuple_element_t<N, tuple<F, R...>> &&get(tuple<F, R...> &&t) {
  return static_cast<tuple_element_t<N, tuple<F, R...>> &&>(get<N>(t));
}
template <class U, class... T> U &get(tuple<T...> &t) { return get<__mlusim_place<U, T...>()>(t); }
template <class U, class... T> const U &get(const tuple<T...> &t) { return get<__mlusim_place<U, T...>()>(t); }
template <size_t N, class A, class B> tuple_element_t<N, pair<A, B>> &get(pair<A, B> &p) {
  if constexpr (N == 0) return p.first;
  else return p.second;
}
template <size_t N, class A, class B> const tuple_element_t<N, pair<A, B>> &get(const pair<A, B> &p) {
  if constexpr (N == 0) return p.first;
  else return p.second;
}
template <size_t N, class A, class B> tuple_element_t<N, pair<A, B>> &&get(pair<A, B> &&p) {
  return static_cast<tuple_element_t<N, pair<A, B>> &&>(get<N>(p));
}
template <class... T> tuple<decay_t<T>...> make_tuple(T &&... t) { return tuple<decay_t<T>...>(t...); }
template <class... T> tuple<T &...> tie(T &... t) { return tuple<T &...>(t...); }
inline bool operator==(const tuple<> &, const tuple<> &) { return true; }
inline bool operator<(const tuple<> &, const tuple<> &) { return false; }
template <class F, class... R> bool operator==(const tuple<F, R...> &a, const tuple<F, R...> &b) {
  return a.first == b.first && a.rest == b.rest;
}
template <class F, class... R> bool operator!=(const tuple<F, R...> &a, const tuple<F, R...> &b) { return !(a == b); }
template <class F, class... R> bool operator<(const tuple<F, R...> &a, const tuple<F, R...> &b) {
  return a.first < b.first || (!(b.first < a.first) && a.rest < b.rest);
}
template <class C, class... T, size_t... N> auto __mlusim_apply(C &call, tuple<T...> &t, index_sequence<N...>) {
  return call(get<N>(t)...);
}
template <class C, class... T> auto apply(C call, tuple<T...> t) {
  return __mlusim_apply(call, t, index_sequence_for<T...>());
}

struct nullopt_t {};
inline constexpr nullopt_t nullopt{};
struct bad_optional_access : exception {
  const char *what() const { return "bad optional access"; }
};
template <class T> struct optional {
  typedef T value_type;
  bool held = false;
  T inner;
  optional() : inner(__mlusim_fresh<T>()) {}
  optional(nullopt_t) : inner(__mlusim_fresh<T>()) {}
  optional(const T &t) : held(true), inner(t) {}
  template <class U, class = enable_if_t<is_constructible<T, U>::value && !is_same<decay_t<U>, T>::value &&
                                         !is_same<decay_t<U>, optional>::value>>
  optional(U &&u) : held(true), inner(u) {}
  bool has_value() const { return held; }
  explicit operator bool() const { return held; }
  T &value() {
    if (!held) throw bad_optional_access();
    return inner;
  }
  const T &value() const {
    if (!held) throw bad_optional_access();
    return inner;
  }
  T value_or(const T &other) const { return held ? inner : other; }
  T &operator*() { return inner; }
  const T &operator*() const { return inner; }
  T *operator->() { return &inner; }
  const T *operator->() const { return &inner; }
  void reset() { held = false; }
  template <class... A> T &emplace(A &&... a) {
    inner = T(a...);
    held = true;
    return inner;
  }
};
template <class T> optional(T) -> optional<T>;
template <class T> optional<decay_t<T>> make_optional(T &&t) { return optional<decay_t<T>>(t); }
template <class T> bool operator==(const optional<T> &a, nullopt_t) { return !a.held; }
template <class T> bool operator!=(const optional<T> &a, nullopt_t) { return a.held; }
template <class T> bool operator==(const optional<T> &a, const T &b) { return a.held && a.inner == b; }
template <class T> bool operator==(const optional<T> &a, const optional<T> &b) {
  return a.held == b.held && (!a.held || a.inner == b.inner);
}

struct monostate {};
struct bad_variant_access : exception {
  const char *what() const { return "bad variant access"; }
};
template <class... T> struct __mlusim_all {};
template <class F, class... R> struct __mlusim_all<F, R...> {
  F first;
  __mlusim_all<R...> rest;
  __mlusim_all() : first(__mlusim_fresh<F>()) {}
};
template <size_t N, class F, class... R> auto &__mlusim_part(__mlusim_all<F, R...> &all) {
  if constexpr (N == 0) return all.first;
  else return __mlusim_part<N - 1>(all.rest);
}
template <class... T> struct variant {
  size_t kind = 0;
  mutable __mlusim_all<T...> all;
  variant() {}
  template <class U, class = enable_if_t<!is_same<decay_t<U>, variant>::value>>
  variant(U &&u) : kind(__mlusim_takes<U, T...>()) {
    __mlusim_part<__mlusim_takes<U, T...>()>(all) = u;
  }
  size_t index() const { return kind; }
  bool valueless_by_exception() const { return false; }
  template <size_t N, class... A> auto &emplace(A &&... a) {
    kind = N;
    return __mlusim_part<N>(all) = tuple_element_t<N, tuple<T...>>(a...);
  }
  template <class U, class... A> U &emplace(A &&... a) { return emplace<__mlusim_place<U, T...>()>(a...); }
};
template <class T> struct variant_size;
template <class... T> struct variant_size<variant<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <size_t N, class T> struct variant_alternative;
template <size_t N, class... T> struct variant_alternative<N, variant<T...>> : tuple_element<N, tuple<T...>> {};
template <size_t N, class T> using variant_alternative_t = typename variant_alternative<N, T>::type;
template <size_t N, class... T> tuple_element_t<N, tuple<T...>> &get(variant<T...> &v) {
  if (v.kind != N) throw bad_variant_access();
  return __mlusim_part<N>(v.all);
}
template <size_t N, class... T> const tuple_element_t<N, tuple<T...>> &get(const variant<T...> &v) {
  if (v.kind != N) throw bad_variant_access();
  return __mlusim_part<N>(v.all);
}
template <class U, class... T> U &get(variant<T...> &v) { return get<__mlusim_place<U, T...>()>(v); }
template <class U, class... T> const U &get(const variant<T...> &v) { return get<__mlusim_place<U, T...>()>(v); }
template <size_t N, class... T> tuple_element_t<N, tuple<T...>> *get_if(variant<T...> *v) {
  return v != nullptr && v->kind == N ? &__mlusim_part<N>(v->all) : nullptr;
}
template <class U, class... T> U *get_if(variant<T...> *v) { return get_if<__mlusim_place<U, T...>()>(v); }
template <class U, class... T> bool holds_alternative(const variant<T...> &v) {
  return v.kind == __mlusim_place<U, T...>();
}
template <size_t N, class C, class... T> auto __mlusim_visit(C &call, const variant<T...> &v) {
  if constexpr (N + 1 < sizeof...(T)) {
    if (v.kind != N) return __mlusim_visit<N + 1>(call, v);
  }
  return call(__mlusim_part<N>(v.all));
}
template <class C, class... T> auto visit(C call, const variant<T...> &v) { return __mlusim_visit<0>(call, v); }
}  // namespace std
