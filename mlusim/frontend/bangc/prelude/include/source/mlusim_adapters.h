// Containers that rest on vectors, and locks, as ordinary sources; a program has one thread here.
#pragma once

namespace std {
using string_view = string;

template <class T> struct deque {
  typedef T value_type;
  typedef T *iterator;
  vector<T> held;
  deque() {}
  deque(initializer_list<T> values) : held(values) {}
  explicit deque(size_t n) : held(n) {}
  deque(size_t n, const T &t) : held(n, t) {}
  void push_back(const T &t) { held.push_back(t); }
  void push_front(const T &t) { held.insert(held.begin(), t); }
  template <class... A> T &emplace_back(A &&... a) {
    held.push_back(T(a...));
    return held.back();
  }
  void pop_back() { held.pop_back(); }
  void pop_front() { held.erase(held.begin()); }
  T &front() { return held[0]; }
  T &back() { return held.back(); }
  T &operator[](size_t n) { return held[n]; }
  const T &operator[](size_t n) const { return held[n]; }
  T &at(size_t n) { return held.at(n); }
  size_t size() const { return held.size(); }
  bool empty() const { return held.empty(); }
  void clear() { held.clear(); }
  void resize(size_t n) { held.resize(n); }
  T *erase(T *at) { return held.erase(at); }
  T *insert(T *at, const T &t) { return held.insert(at, t); }
  T *begin() { return held.begin(); }
  T *end() { return held.end(); }
  const T *begin() const { return held.begin(); }
  const T *end() const { return held.end(); }
};
template <class T> using list = deque<T>;
template <class T, class C = deque<T>> struct queue {
  C held;
  void push(const T &t) { held.push_back(t); }
  template <class... A> void emplace(A &&... a) { held.push_back(T(a...)); }
  void pop() { held.pop_front(); }
  T &front() { return held.front(); }
  T &back() { return held.back(); }
  size_t size() const { return held.size(); }
  bool empty() const { return held.empty(); }
};
template <class T, class C = deque<T>> struct stack {
  C held;
  void push(const T &t) { held.push_back(t); }
  template <class... A> void emplace(A &&... a) { held.push_back(T(a...)); }
  void pop() { held.pop_back(); }
  T &top() { return held.back(); }
  size_t size() const { return held.size(); }
  bool empty() const { return held.empty(); }
};
template <class T, class C = vector<T>, class L = less<T>> struct priority_queue {
  C held;
  L before;
  void push(const T &t) {
    size_t n = held.size();
    while (n > 0 && before(t, held[n - 1])) --n;
    held.insert(held.begin() + n, t);
  }
  template <class... A> void emplace(A &&... a) { push(T(a...)); }
  void pop() { held.pop_back(); }
  const T &top() { return held.back(); }
  size_t size() const { return held.size(); }
  bool empty() const { return held.empty(); }
};

struct mutex {
  void lock() {}
  void unlock() {}
  bool try_lock() { return true; }
};
using recursive_mutex = mutex;
using shared_mutex = mutex;
template <class M> struct lock_guard {
  explicit lock_guard(M &) {}
};
template <class M> struct unique_lock {
  unique_lock() {}
  explicit unique_lock(M &) {}
  void lock() {}
  void unlock() {}
};
template <class M> using scoped_lock = lock_guard<M>;
}  // namespace std
