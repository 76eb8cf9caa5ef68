// Classes and functions of the C++ and C libraries that host code uses; the run-time has their bodies.
#pragma once
#include "mlusim_base.h"
#include "mlusim_math.h"

namespace std {
template <class A, class B> struct pair {
  A first;
  B second;
};
template <class... T> struct tuple {};
template <class T> struct initializer_list {
  const T *b;
  size_t n;
};
struct string {
  string();
  string(const char *);
  string(const string &);
  const char *c_str() const;
  size_t size() const;
  size_t length() const;
  bool empty() const;
  string &operator=(const string &);
  string &operator+=(const string &);
};
string operator+(const string &, const string &);
bool operator==(const string &, const string &);
string to_string(int);
string to_string(unsigned);
string to_string(long);
string to_string(size_t);
string to_string(double);
struct ostream {
  template <class T> ostream &operator<<(const T &);
  ostream &operator<<(ostream &(*)(ostream &));
};
struct stringstream : ostream {
  string str() const;
};
extern ostream cout, cerr;
ostream &endl(ostream &);
template <class K, class V> struct map {
  map();
  map(initializer_list<pair<const K, V>>);
  V &operator[](const K &);
  V &at(const K &);
  const V &at(const K &) const;
  size_t count(const K &) const;
  size_t size() const;
  pair<const K, V> *find(const K &) const;
  pair<const K, V> *begin() const;
  pair<const K, V> *end() const;
};
template <class K, class V> struct unordered_map : map<K, V> {
  using map<K, V>::map;
};
template <class T> struct set {
  set();
  set(initializer_list<T>);
  size_t count(const T &) const;
  T *find(const T &) const;
  T *begin() const;
  T *end() const;
};
template <class T, size_t N> struct array {
  T elements[N];
  T &operator[](size_t i) { return elements[i]; }
  const T &operator[](size_t i) const { return elements[i]; }
  T *begin() { return elements; }
  T *end() { return elements + N; }
  size_t size() const { return N; }
};
template <class T> struct vector {
  vector();
  vector(size_t);
  vector(size_t, T);
  vector(initializer_list<T>);
  T &operator[](size_t);
  const T &operator[](size_t) const;
  size_t size() const;
  bool empty() const;
  T *data();
  const T *data() const;
  void push_back(const T &);
  void resize(size_t);
  void resize(size_t, T);
  void clear();
  T *begin();
  T *end();
  T &back();
};
template <class A, class B> pair<A, B> make_pair(A, B);
template <class T> struct shared_ptr {
  T *operator->() const;
};
template <class T> struct unique_ptr {
  T *operator->() const;
};
struct random_device {
  random_device();
  unsigned operator()();
};
struct mt19937 {
  mt19937(unsigned);
  unsigned operator()();
};
template <class T> struct uniform_real_distribution {
  uniform_real_distribution(T, T);
  T operator()(mt19937 &);
};
template <class T> struct atomic {
  atomic(T);
  T operator++(int);
};
template <class I> void sort(I, I);
template <class I, class F> void sort(I, I, F);
template <class I, class T> T accumulate(I, I, T);
template <class I, class T> I find(I, I, const T &);
}  // namespace std

extern "C" {
void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);
int rand();
void srand(unsigned);
void abort();
void exit(int);
int strcmp(const char *, const char *);
size_t strlen(const char *);
struct timeval {
  long tv_sec, tv_usec;
};
int gettimeofday(timeval *, void *);
}
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
