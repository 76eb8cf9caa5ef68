// Container adapters, and locks.
#pragma once

namespace std {
using string_view = string;

template <class T> struct deque : vector<T> {
  using vector<T>::vector;
  deque();
  deque(initializer_list<T>);
  void push_front(const T &);
  void pop_front();
};
template <class T> using list = deque<T>;
#define __mlusim_adapter__(name_, ...) \
  template <class T, __VA_ARGS__> struct name_ { \
    void push(const T &); \
    template <class... A> void emplace(A &&...); \
    void pop(); \
    T &front(); \
    T &back(); \
    T &top(); \
    size_t size() const; \
    bool empty() const; \
  };
__mlusim_adapter__(queue, class C = deque<T>)
__mlusim_adapter__(stack, class C = deque<T>)
__mlusim_adapter__(priority_queue, class C = vector<T>, class L = less<T>)
#undef __mlusim_adapter__

struct mutex {
  void lock();
  void unlock();
  bool try_lock();
};
using recursive_mutex = mutex;
using shared_mutex = mutex;
template <class M> struct lock_guard {
  explicit lock_guard(M &);
};
template <class M> struct unique_lock {
  unique_lock();
  explicit unique_lock(M &);
  void lock();
  void unlock();
};
template <class M> using scoped_lock = lock_guard<M>;
}  // namespace std
