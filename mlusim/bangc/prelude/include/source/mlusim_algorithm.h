// The algorithms of the C++ library, for all iterators that behave like pointers.
#pragma once

namespace std {
template <class I> long distance(I first, I last) { return last - first; }
template <class I> I next(I at, long n = 1) { return at + n; }
template <class I> I prev(I at, long n = 1) { return at - n; }
template <class I> void advance(I &at, long n) { at += n; }
template <class C> auto begin(C &c) -> decltype(c.begin()) { return c.begin(); }
template <class C> auto end(C &c) -> decltype(c.end()) { return c.end(); }
template <class T, size_t N> T *begin(T (&a)[N]) { return a; }
template <class T, size_t N> T *end(T (&a)[N]) { return a + N; }
template <class C> size_t size(const C &c) { return c.size(); }

template <class C> struct back_insert_iterator {
  C *to;
  back_insert_iterator &operator*() { return *this; }
  back_insert_iterator &operator++() { return *this; }
  back_insert_iterator &operator++(int) { return *this; }
  template <class T> back_insert_iterator &operator=(const T &value) {
    to->push_back(value);
    return *this;
  }
};
template <class C> back_insert_iterator<C> back_inserter(C &c) { return back_insert_iterator<C>{&c}; }

template <class I> void stable_sort(I, I);
template <class T, class F> void sort(T *first, T *last, F f) { f(*first, *last); }
template <class T, class F> void stable_sort(T *first, T *last, F f) { sort(first, last, f); }
template <class I, class... F> void partial_sort(I first, I, I last, F... f) { sort(first, last, f...); }
template <class I, class... F> void nth_element(I first, I, I last, F... f) { sort(first, last, f...); }

template <class I, class T> T accumulate(I, I, T);
template <class I, class T, class F> T accumulate(I first, I, T sum, F f) { return f(sum, *first); }
template <class I, class J, class T> T inner_product(I, I, J, T);
template <class I, class O> O partial_sum(I, I, O);
template <class I, class F> F for_each(I first, I, F f) {
  f(*first);
  return f;
}
template <class I, class O, class F> O transform(I first, I, O to, F f) {
  *to = f(*first);
  return to;
}
template <class I, class J, class O, class F> O transform(I first, I, J other, O to, F f) {
  *to = f(*first, *other);
  return to;
}
template <class I, class T> I find(I, I, const T &);
template <class I, class F> I find_if(I first, I, F f) {
  f(*first);
  return first;
}
template <class I, class T> long count(I, I, const T &);
template <class I, class F> long count_if(I first, I, F f) { return f(*first); }
template <class I, class F> bool any_of(I first, I, F f) { return f(*first); }
template <class I, class F> bool all_of(I first, I, F f) { return f(*first); }
template <class I, class F> bool none_of(I first, I, F f) { return f(*first); }
template <class I, class J> bool equal(I, I, J);
template <class I, class T> void fill(I, I, const T &);
template <class I, class T> I fill_n(I, long, const T &);
template <class I, class F> void generate(I first, I, F f) { *first = f(); }
template <class I, class T> void iota(I, I, T);
template <class I, class O> O copy(I, I, O);
template <class I, class O> O copy_n(I, long, O);
template <class I, class O, class F> O copy_if(I first, I, O to, F f) {
  f(*first);
  return to;
}
template <class I, class T> void replace(I, I, const T &, const T &);
template <class I, class F> I remove_if(I first, I last, F f) { return find_if(first, last, f); }
template <class I, class T> I remove(I, I, const T &);
template <class I> I unique(I, I);
template <class I, class F> I max_element(I first, I last, F before) {
  before(*first, *last);
  return first;
}
template <class I, class F> I min_element(I first, I last, F before) { return max_element(first, last, before); }
template <class I> I max_element(I, I);
template <class I> I min_element(I, I);
template <class I, class T, class F> I lower_bound(I first, I, const T &value, F before) {
  before(*first, value);
  return first;
}
template <class I, class T> I lower_bound(I, I, const T &);
template <class I, class T> I upper_bound(I, I, const T &);
template <class I, class T> bool binary_search(I, I, const T &);
template <class I> void iter_swap(I, I);
template <class I> void reverse(I, I);
template <class I> I rotate(I, I, I);
template <class I, class G> void shuffle(I, I, G &&);
template <class I> bool next_permutation(I, I);
template <class T, class F> T min(initializer_list<T>, F);
template <class T, class F> T max(initializer_list<T>, F);
template <class T> __mlusim_both__ constexpr T min(initializer_list<T> of) {
  const T *least = of.begin();
  for (const T *one = of.begin(); one != of.end(); ++one)
    if (*one < *least) least = one;
  return *least;
}
template <class T> __mlusim_both__ constexpr T max(initializer_list<T> of) {
  const T *most = of.begin();
  for (const T *one = of.begin(); one != of.end(); ++one)
    if (*most < *one) most = one;
  return *most;
}
template <class T> __mlusim_both__ constexpr const T &clamp(const T &value, const T &low, const T &high) {
  return value < low ? low : high < value ? high : value;
}
template <class T> bool operator==(const vector<T> &, const vector<T> &);
template <class T> bool operator!=(const vector<T> &, const vector<T> &);
template <class T> bool operator<(const vector<T> &, const vector<T> &);
}  // namespace std
