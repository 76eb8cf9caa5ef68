// Classes and functions of the C++ and C libraries that host code uses; the run-time has the bodies that are not here.
#pragma once
#include "mlusim_base.h"
#include "mlusim_math.h"

extern "C" {
typedef struct mlusim_file FILE;
extern FILE *stdout, *stderr;
void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
void *memmove(void *, const void *, size_t);
int memcmp(const void *, const void *, size_t);
int fprintf(FILE *, const char *, ...);
int sprintf(char *, const char *, ...);
int snprintf(char *, size_t, const char *, ...);
int puts(const char *);
int putchar(int);
int fflush(FILE *);
int rand();
void srand(unsigned);
void abort();
void exit(int);
void _Exit(int);
char *getenv(const char *);
int atoi(const char *);
long atol(const char *);
double atof(const char *);
size_t strlen(const char *);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *strcpy(char *, const char *);
char *strstr(const char *, const char *);
char *strchr(const char *, int);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
typedef long time_t;
typedef long clock_t;
time_t time(time_t *);
clock_t clock();
int usleep(unsigned);
struct timeval {
  long tv_sec, tv_usec;
};
int gettimeofday(timeval *, void *);
long __mlusim_ns();
}
#define CLOCKS_PER_SEC 1000000L
#define RAND_MAX 2147483647
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

namespace std {
struct nothrow_t {};
extern const nothrow_t nothrow;
}  // namespace std
void *operator new(size_t, const std::nothrow_t &) noexcept;
void *operator new[](size_t, const std::nothrow_t &) noexcept;

namespace std {
using ::abort;
using ::atof;
using ::atoi;
using ::calloc;
using ::clock;
using ::exit;
using ::fprintf;
using ::free;
using ::malloc;
using ::memcmp;
using ::memcpy;
using ::memmove;
using ::memset;
using ::printf;
using ::puts;
using ::qsort;
using ::rand;
using ::realloc;
using ::snprintf;
using ::srand;
using ::strcmp;
using ::strlen;
using ::time;

template <class A, class B> struct pair {
  A first;
  B second;
};
template <class A, class B> pair<A, B> make_pair(A a, B b) { return pair<A, B>{a, b}; }
template <class... T> struct tuple {};
template <class T> struct initializer_list {
  const T *b;
  size_t n;
  size_t size() const;
};
struct string {
  static constexpr size_t npos = -1;
  string();
  string(const char *);
  string(const char *, size_t);
  string(size_t, char);
  string(const string &);
  const char *c_str() const;
  const char *data() const;
  size_t size() const;
  size_t length() const;
  bool empty() const;
  void clear();
  void push_back(char);
  char &operator[](size_t);
  const char &operator[](size_t) const;
  char &at(size_t);
  string &operator=(const string &);
  string &operator=(const char *);
  string &operator+=(const string &);
  string &operator+=(const char *);
  string &operator+=(char);
  string &append(const string &);
  string substr(size_t, size_t = npos) const;
  size_t find(const string &, size_t = 0) const;
  size_t find(char, size_t = 0) const;
  int compare(const string &) const;
  char *begin();
  char *end();
};
string operator+(const string &, const string &);
string operator+(const string &, char);
bool operator==(const string &, const string &);
bool operator!=(const string &, const string &);
bool operator<(const string &, const string &);
string to_string(int);
string to_string(unsigned);
string to_string(long);
string to_string(size_t);
string to_string(float);
string to_string(double);
int stoi(const string &);
long stol(const string &);
float stof(const string &);
double stod(const string &);

struct mlusim_manipulator {
  mlusim_manipulator(int);
};
mlusim_manipulator setw(int);
mlusim_manipulator setprecision(int);
mlusim_manipulator setfill(char);
struct ostream {
  template <class T> ostream &operator<<(const T &);
  ostream &operator<<(char);
  ostream &operator<<(const char *);
  ostream &operator<<(const void *);
  ostream &operator<<(ostream &(*)(ostream &));
  ostream &put(char);
  ostream &flush();
  long precision(long);
  long width(long);
};
struct stringstream : ostream {
  stringstream();
  string str() const;
  void str(const string &);
};
typedef stringstream ostringstream;
extern ostream cout, cerr, clog;
ostream &endl(ostream &);
ostream &flush(ostream &);
ostream &fixed(ostream &);
ostream &scientific(ostream &);
ostream &defaultfloat(ostream &);
ostream &boolalpha(ostream &);
ostream &noboolalpha(ostream &);
ostream &hex(ostream &);
ostream &dec(ostream &);
ostream &left(ostream &);
ostream &right(ostream &);

#define __mlusim_map__(name_) \
  template <class K, class V> struct name_ { \
    name_(); \
    name_(initializer_list<pair<const K, V>>); \
    V &operator[](const K &); \
    V &at(const K &); \
    const V &at(const K &) const; \
    size_t count(const K &) const; \
    size_t erase(const K &); \
    size_t size() const; \
    bool empty() const; \
    void clear(); \
    name_ &operator=(const name_ &); \
    pair<const K, V> *find(const K &) const; \
    pair<const K, V> *begin() const; \
    pair<const K, V> *end() const; \
  };
__mlusim_map__(map)
__mlusim_map__(unordered_map)
#define __mlusim_set__(name_) \
  template <class T> struct name_ { \
    name_(); \
    name_(initializer_list<T>); \
    void insert(const T &); \
    size_t count(const T &) const; \
    size_t erase(const T &); \
    size_t size() const; \
    bool empty() const; \
    T *find(const T &) const; \
    T *begin() const; \
    T *end() const; \
  };
__mlusim_set__(set)
__mlusim_set__(unordered_set)
template <class T, size_t N> struct array {
  T elements[N];
  T &operator[](size_t);
  const T &operator[](size_t) const;
  T &at(size_t);
  T *data();
  const T *data() const;
  T *begin();
  T *end();
  size_t size() const { return N; }
  void fill(const T &);
};
template <class T> struct vector {
  typedef T value_type;
  typedef T *iterator;
  vector();
  vector(size_t);
  vector(size_t, T);
  vector(initializer_list<T>);
  vector(const vector &);
  template <class U> vector(U *, U *);
  T &operator[](size_t);
  const T &operator[](size_t) const;
  T &at(size_t);
  const T &at(size_t) const;
  size_t size() const;
  size_t capacity() const;
  bool empty() const;
  T *data();
  const T *data() const;
  void push_back(const T &);
  template <class... A> T &emplace_back(A...);
  void pop_back();
  void reserve(size_t);
  void resize(size_t);
  void resize(size_t, T);
  void assign(size_t, const T &);
  void assign(const T *, const T *);
  vector &operator=(const vector &);
  void swap(vector &);
  void clear();
  T *insert(const T *, const T &);
  T *insert(const T *, const T *, const T *);
  T *insert(const T *, size_t, const T &);
  T *erase(const T *);
  T *erase(const T *, const T *);
  T *begin();
  T *end();
  const T *begin() const;
  const T *end() const;
  T &front();
  T &back();
  const T &back() const;
};
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
  mt19937();
  mt19937(unsigned);
  unsigned operator()();
};
typedef mt19937 default_random_engine;
template <class T = double> struct uniform_real_distribution {
  uniform_real_distribution();
  uniform_real_distribution(T, T);
  T operator()(mt19937 &);
};
template <class T = int> struct uniform_int_distribution {
  uniform_int_distribution(T, T);
  T operator()(mt19937 &);
};
template <class T = double> struct normal_distribution {
  normal_distribution();
  normal_distribution(T, T);
  T operator()(mt19937 &);
};
template <class T> struct atomic {
  atomic(T);
  T operator++(int);
};

template <class I> void sort(I, I);
template <class I, class F> void sort(I, I, F);
template <class I, class T> T accumulate(I first, I last, T sum) {
  for (; first != last; ++first) sum = sum + *first;
  return sum;
}
template <class I, class T> I find(I first, I last, const T &value) {
  for (; first != last; ++first)
    if (*first == value) break;
  return first;
}
template <class I, class T> size_t count(I first, I last, const T &value) {
  size_t n = 0;
  for (; first != last; ++first) n += *first == value;
  return n;
}
template <class I, class T> void fill(I first, I last, const T &value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class T> void iota(I first, I last, T value) {
  for (; first != last; ++first) *first = value++;
}
template <class I, class O> O copy(I first, I last, O to) {
  for (; first != last; ++first) *to++ = *first;
  return to;
}
template <class I> I max_element(I first, I last) {
  I best = first;
  for (; first != last; ++first)
    if (*best < *first) best = first;
  return best;
}
template <class I> I min_element(I first, I last) {
  I best = first;
  for (; first != last; ++first)
    if (*first < *best) best = first;
  return best;
}
template <class I> void reverse(I first, I last) {
  while (first < last) {
    --last;
    auto held = *first;
    *first = *last;
    *last = held;
    ++first;
  }
}
}  // namespace std
#include "source/mlusim_chrono.h"
