// Classes and functions of the C and C++ libraries that host code uses; the host's own compiler has the real headers.
// They supply the types in signatures and of kernel arguments, because launches in host code instantiate kernels.
// Templates that call their arguments have bodies, so that the called functions are instantiated.
#pragma once
#include "mlusim_base.h"
#include "mlusim_math.h"

extern "C" {
typedef struct mlusim_file FILE;
extern FILE *stdout, *stderr;
#define EOF (-1)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
FILE *fopen(const char *, const char *);
int fclose(FILE *);
size_t fread(void *, size_t, size_t, FILE *);
size_t fwrite(const void *, size_t, size_t, FILE *);
int fseek(FILE *, long, int);
long ftell(FILE *);
void rewind(FILE *);
int feof(FILE *);
int ferror(FILE *);
char *fgets(char *, int, FILE *);
int fgetc(FILE *);
int fputs(const char *, FILE *);
int fputc(int, FILE *);
int remove(const char *);
void perror(const char *);
int scanf(const char *, ...);
int sscanf(const char *, const char *, ...);
int fscanf(FILE *, const char *, ...);
void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
void *memmove(void *, const void *, size_t);
int memcmp(const void *, const void *, size_t);
int fprintf(FILE *, const char *, ...);
int sprintf(char *, const char *, ...);
int snprintf(char *, size_t, const char *, ...);
typedef __builtin_va_list va_list;
int vprintf(const char *, va_list);
int vfprintf(FILE *, const char *, va_list);
int vsprintf(char *, const char *, va_list);
int vsnprintf(char *, size_t, const char *, va_list);
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
char *strncpy(char *, const char *, size_t);
char *strcat(char *, const char *);
long strtol(const char *, char **, int);
unsigned long strtoul(const char *, char **, int);
double strtod(const char *, char **);
float strtof(const char *, char **);
int toupper(int);
int tolower(int);
int isdigit(int);
int isalpha(int);
int isalnum(int);
int isspace(int);
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
__mlusim_both__ int gettimeofday(timeval *, void *);
}
#define va_start(rest, last) __builtin_va_start(rest, last)
#define va_arg(rest, type) __builtin_va_arg(rest, type)
#define va_copy(to, from) __builtin_va_copy(to, from)
#define va_end(rest) __builtin_va_end(rest)
#define CLOCKS_PER_SEC 1000000L
#define RAND_MAX 2147483647
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

#include "source/mlusim_pair.h"

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
using ::getenv;
using ::strtol;
using ::strtoul;
using ::strtod;
using ::strcpy;
using ::strncpy;
using ::strcat;
using ::strncmp;
using ::strchr;
using ::strstr;
using ::toupper;
using ::tolower;
using ::isdigit;
using ::isalpha;
using ::isalnum;
using ::isspace;
using ::sprintf;
using ::putchar;
using ::fflush;
using ::fseek;
using ::ftell;
using ::fgets;
using ::fputs;
using ::feof;
using ::atol;
using ::time_t;
using ::clock_t;
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
using ::FILE;
using ::fopen;
using ::fclose;
using ::fread;
using ::fwrite;
using ::sscanf;
using ::scanf;
using ::perror;
using ::remove;
using ::va_list;
using ::vprintf;
using ::vfprintf;
using ::vsnprintf;
using ::vsprintf;

template <class T> struct initializer_list {
  const T *b;
  size_t n;
  __mlusim_both__ constexpr initializer_list() : b(nullptr), n(0) {}
  __mlusim_both__ constexpr size_t size() const { return n; }
  __mlusim_both__ constexpr const T *begin() const { return b; }
  __mlusim_both__ constexpr const T *end() const { return b + n; }
};
template <class T> __mlusim_both__ constexpr const T *begin(initializer_list<T> l) { return l.begin(); }
template <class T> __mlusim_both__ constexpr const T *end(initializer_list<T> l) { return l.end(); }
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
long long stoll(const string &);
unsigned long stoul(const string &);
unsigned long long stoull(const string &);
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
typedef int ios_mode;
struct ios_base {
  typedef ios_mode openmode;
  static constexpr ios_mode app = 1, ate = 2, binary = 4, in = 8, out = 16, trunc = 32;
  static constexpr int beg = 0, cur = 1, end = 2;
};
typedef ios_base ios;
struct istream {
  template <class T> istream &operator>>(T &);
  operator bool() const;
  bool operator!() const;
  bool good() const;
  bool eof() const;
  bool fail() const;
  void clear();
  int get();
  istream &get(char &);
  int peek();
  istream &ignore(long = 1, int = -1);
  istream &read(char *, long);
  istream &seekg(long);
  istream &seekg(long, int);
  long tellg();
  long gcount() const;
};
struct iostream : istream, ostream {};
struct stringstream : iostream {
  stringstream();
  stringstream(const string &);
  string str() const;
  void str(const string &);
};
typedef stringstream ostringstream;
typedef stringstream istringstream;
struct ifstream : istream {
  ifstream();
  ifstream(const string &, ios_mode = ios_base::in);
  void open(const string &, ios_mode = ios_base::in);
  bool is_open() const;
  void close();
};
struct ofstream : ostream {
  ofstream();
  ofstream(const string &, ios_mode = ios_base::out);
  void open(const string &, ios_mode = ios_base::out);
  bool is_open() const;
  void close();
  ofstream &write(const char *, long);
  operator bool() const;
  bool operator!() const;
};
struct fstream : iostream {
  fstream();
  fstream(const string &, ios_mode = ios_base::in | ios_base::out);
  void open(const string &, ios_mode = ios_base::in | ios_base::out);
  bool is_open() const;
  void close();
  fstream &write(const char *, long);
};
extern istream cin;
istream &getline(istream &, string &);
istream &getline(istream &, string &, char);
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

#define __mlusim_map__(name_, order_) \
  template <class K, class V, class C = order_<K>, class P = pair<const K, V>> struct name_ { \
    typedef K key_type; \
    typedef V mapped_type; \
    typedef P value_type; \
    typedef P *iterator; \
    typedef P *const_iterator; \
    char complete[sizeof(P)]; \
    name_(); \
    name_(initializer_list<P>); \
    V &operator[](const K &); \
    V &at(const K &); \
    const V &at(const K &) const; \
    size_t count(const K &) const; \
    size_t erase(const K &); \
    P *erase(P *); \
    pair<P *, bool> insert(const P &); \
    pair<P *, bool> emplace(const K &, const V &); \
    size_t size() const; \
    bool empty() const; \
    void clear(); \
    void swap(name_ &); \
    name_ &operator=(const name_ &); \
    P *find(const K &) const; \
    P *lower_bound(const K &) const; \
    P *upper_bound(const K &) const; \
    P *begin() const; \
    P *end() const; \
  };
__mlusim_map__(map, less)
__mlusim_map__(unordered_map, equal_to)
#define __mlusim_set__(name_, order_) \
  template <class T, class C = order_<T>> struct name_ { \
    typedef T value_type; \
    typedef const T *iterator; \
    name_(); \
    name_(initializer_list<T>); \
    template <class U> name_(U *, U *); \
    pair<const T *, bool> insert(const T &); \
    size_t count(const T &) const; \
    size_t erase(const T &); \
    const T *erase(const T *); \
    size_t size() const; \
    bool empty() const; \
    void clear(); \
    const T *find(const T &) const; \
    const T *lower_bound(const T &) const; \
    const T *upper_bound(const T &) const; \
    const T *begin() const; \
    const T *end() const; \
  };
__mlusim_set__(set, less)
__mlusim_set__(unordered_set, equal_to)
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
  T *insert(const T *, size_t, const T &);
  T *insert(const T *, initializer_list<T>);
  T *insert(const T *, const T *, const T *);
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
template <class> struct function;
template <class R, class... A> struct function<R(A...)> {
  function();
  function(decltype(nullptr));
  function(const function &);
  template <class F> function(F) {}
  function &operator=(const function &);
  R operator()(A...) const;
  operator bool() const;
};
template <class I> void sort(I, I);
}  // namespace std
#include "source/mlusim_algorithm.h"
#include "source/mlusim_exceptions.h"
#include "source/mlusim_sums.h"
#include "source/mlusim_memory.h"
#include "source/mlusim_chrono.h"
#include "source/mlusim_adapters.h"
