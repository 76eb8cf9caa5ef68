"""Pointers to functions and strings on both engines: where they are kept, what is called, what is read."""

import numpy as np
from engines import NATIVE, alike, run

FUNCTIONS = """
#include <bang.h>
typedef int (*F)(int);
__mlu_func__ int inc(int x) { return x + 1; }
__mlu_func__ int twice(int x) { return x * 2; }
__mlu_func__ float half_of(float x) { return x / 2; }
__mlu_func__ void store(int *o, int x) { *o = x; }
__mlu_func__ int apply(F f, int x) { return f(x); }
template <int (*G)(int)> __mlu_func__ int fixed(int x) { return G(x) + 1; }
template <typename T> __mlu_func__ int any(T f, int x) { return f(x); }
struct Op { F f; int k; };
static const F kTable[] = {inc, twice};
static const Op kOps[2] = {{twice, 3}, {inc, 4}};
__nram__ F kept[2];
__nram__ Op record;
__mlu_global__ void K(int *o, int n) {
  F f = n > 2 ? inc : twice, none = nullptr, local[2] = {twice, inc};
  o[0] = f(n) + apply(&twice, 4) + (*f)(3) + (**f)(1);
  o[1] = kTable[n & 1](5) + kOps[n & 1].f(kOps[n & 1].k) + local[n - 3](7);
  o[2] = fixed<inc>(3) + fixed<twice>(3) + any(inc, 3) + any([](int x) { return x - 1; }, 8);
  auto by_value = [n](int x) { return x + n; };
  int (*plain)(int) = [](int x) { return x * 3; };
  o[3] = by_value(2) + any(by_value, 3) + plain(4);
  Op ops[2] = {{inc, 1}, {twice, 2}};
  for (int i = 0; i < 2; i++) o[4] += ops[i].f(ops[i].k);
  if (!none && f && f == inc && f != twice && none == nullptr) o[5] = 1;
  kept[0] = inc; kept[1] = twice; record.f = kept[n & 1]; record.k = 6;
  o[6] = kept[0](2) + record.f(record.k) + ((F)(void *)f)(5);
  o[7] = (size_t)inc != (size_t)twice && (size_t)f == (size_t)kept[0];
  F *at = &f; F &by = f; *at = twice; o[8] = by(9);
  float (*real)(float) = half_of; void (*put)(int *, int) = store;
  put(o + 9, (int)real(9.0f));
}
"""


def test_pointers_to_functions(load):
    """In variables, tables, records, templates, NRAM; of lambdas; compared, cast, passed on."""
    kernel = load(FUNCTIONS)["K"]
    arguments = (np.zeros(10, np.int32), 3)
    alike(kernel, arguments)
    _, (found,) = run(kernel, arguments, NATIVE)

    assert [18, 29, 23, 23, 6, 1, 21, 1, 18, 4] == found.tolist()


WRONG = """
#include <bang.h>
typedef int (*F)(int);
__mlu_func__ int inc(int x) { return x + 1; }
__mlu_func__ int deep(F f, int x);
__mlu_func__ int again(int x);
typedef int (*Deep)(F, int);
__mlu_func__ int again(int x) { Deep d = deep; return d(again, x + 1); }
__mlu_func__ int deep(F f, int x) { return f(x); }
__mlu_global__ void K(int *o, int n) {
  F f = nullptr, pair[2] = {inc, inc};
  const char *text = "abc";
  switch (n) {
    case 0: o[0] = f(2); break;
    case 1: o[0] = pair[n + 1](2); break;
    case 2: o[0] = ((F)(void *)o)(2); break;
    case 3: o[0] = again(0); break;
    case 4: o[0] = text[o[0] + 4]; break;
    case 5: ((char *)text)[o[0]] = 'x'; break;
    case 6: o[0] = ((const short *)text)[o[0] + 2]; break;
    case 7: o[0] = (int)(size_t)text; break;
    case 8: o[0] = "abd" - text; break;
  }
}
"""
SENTENCES = (
    "a call through the null pointer",
    "a call through a pointer that was read beside an array of pointers",
    "a call through a pointer that leads to no function of its type",
    "more than 4,096 deep inside of each other",
    "element 4 of an array of 4 is accessed",
    "a store to a string literal",
    "element 2 of an array of 2 is accessed",
    "wanted as a number",
    "pointers to two variables have no difference and no order",
)


def test_what_is_no_function_and_no_character(load):
    """Each is one fault, at its line."""
    kernel = load(WRONG)["K"]

    for n, sentence in enumerate(SENTENCES):
        assert sentence in str(alike(kernel, (np.zeros(1, np.int32), n)))


TEXTS = r"""
#include <bang.h>
__mlu_func__ int len(const char *s) { int n = 0; for (; *s; ++s) n++; return n; }
__mlu_func__ bool same(const char *a, const char *b) { while (*a && *a == *b) { a++; b++; } return *a == *b; }
__mlu_func__ const char *name(int k) { switch (k) { case 0: return "zero"; case 1: return "one"; default: return "many"; } }
struct Named { const char *text; int at; };
static const char *const kNames[] = {"one", "two"};
static const char kText[] = "file";
__mlu_global__ void K(int *o, int n) {
  const char *s = n > 2 ? "yes" : "no", *names[] = {"x", "yy", "zzz"};
  char own[] = "hey", two[2][4] = {"ab", "cd"};
  own[0] = 'H';
  Named all[] = {{"aa", 1}, {"b", 2}};
  static const char *kept = "st";
  o[0] = len("hello") + len(s) + same("abc", "abd") + 2 * same("abc", "abc") + len(names[2]);
  o[1] = own[0] + own[2] + two[1][0] + "lit"[n - 2] + kept[1];
  for (auto &x : all) o[1] += x.at * x.text[0];
  o[2] = kNames[1][0] + kText[2] + len(kNames[0]) + sizeof("four") + __func__[0];
  o[3] = name(5) == name(6); o[3] += 2 * (name(0) == name(1)) + 4 * (s == nullptr) + 8 * (s + 3 > s) + 16 * (s + 3 - s);
  o[4] = ((const int *)"abcdefgh")[1]; o[5] = ((const unsigned char *)"\xff\xfe")[1];
  printf("%s %d %c|%5s|%-5s|", s, o[0], s[1], s, s + 1);
  for (int i = 0; i < 3; i++) __bang_printf("%s;", name(i));
}
"""


def test_strings_outside_of_calls(load):
    """In variables, arrays, records and statics, returned, walked along, compared, printed, seen as other types."""
    kernel = load(TEXTS)["K"]
    arguments = (np.zeros(6, np.int32), 3)
    launch = alike(kernel, arguments)
    _, (found,) = run(kernel, arguments, NATIVE)

    expected = [13, sum(b"Hycitabb"), sum(b"tlK") + 3 + 5, 1 + 8 + 48, 1751606885, 254]
    assert expected == found.tolist()
    assert ("yes 13 e|  yes|es   |", "zero;", "one;", "many;") == launch.printed
