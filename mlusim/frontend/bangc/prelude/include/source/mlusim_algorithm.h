// The algorithms of the C++ library over anything that moves like a pointer, as ordinary sources.
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

template <class F, class T> bool __mlusim_before(F *f, const T *a, const T *b) { return (*f)(*a, *b); }
template <class I> void stable_sort(I first, I last) { sort(first, last); }
template <class T, class F> void sort(T *first, T *last, F f) {
  __mlusim_sort(first, last, &f, &__mlusim_before<F, T>);
}
template <class T, class F> void stable_sort(T *first, T *last, F f) { sort(first, last, f); }
template <class I, class... F> void partial_sort(I first, I, I last, F... f) { sort(first, last, f...); }
template <class I, class... F> void nth_element(I first, I, I last, F... f) { sort(first, last, f...); }

template <class I, class T> T accumulate(I first, I last, T sum) {
  for (; first != last; ++first) sum = sum + *first;
  return sum;
}
template <class I, class T, class F> T accumulate(I first, I last, T sum, F f) {
  for (; first != last; ++first) sum = f(sum, *first);
  return sum;
}
template <class I, class J, class T> T inner_product(I first, I last, J other, T sum) {
  for (; first != last; ++first) sum = sum + *first * *other++;
  return sum;
}
template <class I, class O> O partial_sum(I first, I last, O to) {
  if (first == last) return to;
  auto sum = *first;
  *to++ = sum;
  for (++first; first != last; ++first) {
    sum = sum + *first;
    *to++ = sum;
  }
  return to;
}
template <class I, class F> F for_each(I first, I last, F f) {
  for (; first != last; ++first) f(*first);
  return f;
}
template <class I, class O, class F> O transform(I first, I last, O to, F f) {
  for (; first != last; ++first) *to++ = f(*first);
  return to;
}
template <class I, class J, class O, class F> O transform(I first, I last, J other, O to, F f) {
  for (; first != last; ++first) *to++ = f(*first, *other++);
  return to;
}
template <class I, class T> I find(I first, I last, const T &value) {
  for (; first != last; ++first)
    if (*first == value) break;
  return first;
}
template <class I, class F> I find_if(I first, I last, F f) {
  for (; first != last; ++first)
    if (f(*first)) break;
  return first;
}
template <class I, class T> long count(I first, I last, const T &value) {
  long n = 0;
  for (; first != last; ++first) n += *first == value;
  return n;
}
template <class I, class F> long count_if(I first, I last, F f) {
  long n = 0;
  for (; first != last; ++first) n += f(*first) ? 1 : 0;
  return n;
}
template <class I, class F> bool any_of(I first, I last, F f) { return find_if(first, last, f) != last; }
template <class I, class F> bool all_of(I first, I last, F f) {
  for (; first != last; ++first)
    if (!f(*first)) return false;
  return true;
}
template <class I, class F> bool none_of(I first, I last, F f) { return !any_of(first, last, f); }
template <class I, class J> bool equal(I first, I last, J other) {
  for (; first != last; ++first, ++other)
    if (!(*first == *other)) return false;
  return true;
}
template <class I, class T> void fill(I first, I last, const T &value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class T> I fill_n(I first, long n, const T &value) {
  for (; n > 0; --n) *first++ = value;
  return first;
}
template <class I, class F> void generate(I first, I last, F f) {
  for (; first != last; ++first) *first = f();
}
template <class I, class T> void iota(I first, I last, T value) {
  for (; first != last; ++first) *first = value++;
}
template <class I, class O> O copy(I first, I last, O to) {
  for (; first != last; ++first) *to++ = *first;
  return to;
}
template <class I, class O> O copy_n(I first, long n, O to) { return copy(first, first + n, to); }
template <class I, class O, class F> O copy_if(I first, I last, O to, F f) {
  for (; first != last; ++first)
    if (f(*first)) *to++ = *first;
  return to;
}
template <class I, class T> void replace(I first, I last, const T &old, const T &value) {
  for (; first != last; ++first)
    if (*first == old) *first = value;
}
template <class I, class F> I remove_if(I first, I last, F f) {
  I to = first;
  for (; first != last; ++first)
    if (!f(*first)) *to++ = *first;
  return to;
}
template <class I, class T> I remove(I first, I last, const T &value) {
  I to = first;
  for (; first != last; ++first)
    if (!(*first == value)) *to++ = *first;
  return to;
}
template <class I> I unique(I first, I last) {
  if (first == last) return last;
  I to = first;
  for (++first; first != last; ++first)
    if (!(*to == *first)) *++to = *first;
  return to + 1;
}
template <class I, class F> I max_element(I first, I last, F before) {
  I best = first;
  for (; first != last; ++first)
    if (before(*best, *first)) best = first;
  return best;
}
template <class I, class F> I min_element(I first, I last, F before) {
  I best = first;
  for (; first != last; ++first)
    if (before(*first, *best)) best = first;
  return best;
}
template <class I> I max_element(I first, I last) { return max_element(first, last, less<>()); }
template <class I> I min_element(I first, I last) { return min_element(first, last, less<>()); }
template <class I, class T, class F> I lower_bound(I first, I last, const T &value, F before) {
  long n = last - first;
  while (n > 0) {
    long half_ = n / 2;
    if (before(*(first + half_), value)) {
      first += half_ + 1;
      n -= half_ + 1;
    } else {
      n = half_;
    }
  }
  return first;
}
template <class I, class T> I lower_bound(I first, I last, const T &value) {
  return lower_bound(first, last, value, less<>());
}
template <class I, class T> I upper_bound(I first, I last, const T &value) {
  long n = last - first;
  while (n > 0) {
    long half_ = n / 2;
    if (value < *(first + half_)) {
      n = half_;
    } else {
      first += half_ + 1;
      n -= half_ + 1;
    }
  }
  return first;
}
template <class I, class T> bool binary_search(I first, I last, const T &value) {
  I at = lower_bound(first, last, value);
  return at != last && !(value < *at);
}
template <class I> void iter_swap(I a, I b) {
  auto held = *a;
  *a = *b;
  *b = held;
}
template <class I> void reverse(I first, I last) {
  while (first < last) iter_swap(first++, --last);
}
template <class I> I rotate(I first, I middle, I last) {
  reverse(first, middle);
  reverse(middle, last);
  reverse(first, last);
  return first + (last - middle);
}
template <class I, class G> void shuffle(I first, I last, G &&random) {
  for (long n = last - first - 1; n > 0; --n) iter_swap(first + n, first + random() % (n + 1));
}
template <class I> bool next_permutation(I first, I last) {
  if (last - first < 2) return false;
  I at = last - 1;
  while (at != first && !(*(at - 1) < *at)) --at;
  bool more = at != first;
  if (more) {
    I other = last - 1;
    while (!(*(at - 1) < *other)) --other;
    iter_swap(at - 1, other);
  }
  reverse(at, last);
  return more;
}
template <class T, class... F> T min(initializer_list<T> values, F... before) {
  return *min_element(values.begin(), values.end(), before...);
}
template <class T, class... F> T max(initializer_list<T> values, F... before) {
  return *max_element(values.begin(), values.end(), before...);
}
template <class T> bool operator==(const vector<T> &a, const vector<T> &b) {
  if (a.size() != b.size()) return false;
  for (size_t n = 0; n < a.size(); ++n) {
    if (!(a[n] == b[n])) return false;
  }
  return true;
}
template <class T> bool operator!=(const vector<T> &a, const vector<T> &b) { return !(a == b); }
template <class T> bool operator<(const vector<T> &a, const vector<T> &b) {
  for (size_t n = 0; n < a.size() && n < b.size(); ++n) {
    if (a[n] < b[n]) return true;
    if (b[n] < a[n]) return false;
  }
  return a.size() < b.size();
}
}  // namespace std
