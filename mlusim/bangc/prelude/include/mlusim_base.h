// Types and constants of the C library, and the parts of the C++ library that kernel templates use.
#pragma once
#define __mlusim_stands_in__ 1  // for the headers of the C and C++ library

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef long ssize_t;
typedef unsigned int uint;
typedef _Float16 half;
typedef __bf16 bfloat16_t;
typedef __bf16 bfloat16;
typedef signed char int8;

#define NULL __null
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX 4294967295U
#define LONG_MAX __LONG_MAX__
#define LONG_MIN (-__LONG_MAX__ - 1L)
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MAX __LONG_MAX__
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX
#define UINT64_MAX ULONG_MAX
#define SIZE_MAX ULONG_MAX
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define DBL_MIN __DBL_MIN__
#define DBL_EPSILON __DBL_EPSILON__
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define M_PI 3.14159265358979323846
#define M_E 2.7182818284590452354
#define M_SQRT2 1.41421356237309504880

// Functions of the C and C++ library that the run-time provides on the host and on the device.
#define __mlusim_both__ __attribute__((host, device))
#define __mlusim_space__(name) __attribute__((annotate(name)))

namespace std {
using ::int8_t;
using ::uint8_t;
using ::int16_t;
using ::uint16_t;
using ::int32_t;
using ::uint32_t;
using ::int64_t;
using ::uint64_t;
using ::size_t;
using ::ptrdiff_t;
typedef decltype(nullptr) nullptr_t;

template <class T, T v>
struct integral_constant {
  static constexpr T value = v;
  typedef T value_type;
  typedef integral_constant type;
  constexpr __mlusim_both__ operator T() const { return v; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;

template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T &> { typedef T type; };
template <class T> struct remove_reference<T &&> { typedef T type; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_cv { typedef T type; };
template <class T> struct remove_cv<const T> { typedef T type; };
template <class T> struct remove_cv<volatile T> { typedef T type; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T *> { typedef T type; };
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> struct decay { typedef typename remove_cv<typename remove_reference<T>::type>::type type; };
template <class T> using decay_t = typename decay<T>::type;
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T *> : true_type {};

template <class T> struct is_integral : false_type {};
template <> struct is_integral<bool> : true_type {};
template <> struct is_integral<char> : true_type {};
template <> struct is_integral<signed char> : true_type {};
template <> struct is_integral<unsigned char> : true_type {};
template <> struct is_integral<short> : true_type {};
template <> struct is_integral<unsigned short> : true_type {};
template <> struct is_integral<int> : true_type {};
template <> struct is_integral<unsigned> : true_type {};
template <> struct is_integral<long> : true_type {};
template <> struct is_integral<unsigned long> : true_type {};
template <class T> inline constexpr bool is_integral_v = is_integral<T>::value;
template <class T> struct is_floating_point : false_type {};
template <> struct is_floating_point<float> : true_type {};
template <> struct is_floating_point<double> : true_type {};
template <class T> inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> struct is_unsigned : integral_constant<bool, is_integral<T>::value && (T(0) < T(-1))> {};
template <class T> struct is_signed : integral_constant<bool, (T(-1) < T(0))> {};
template <class T> struct make_signed { typedef T type; };
template <> struct make_signed<unsigned char> { typedef signed char type; };
template <> struct make_signed<unsigned short> { typedef short type; };
template <> struct make_signed<unsigned> { typedef int type; };
template <> struct make_signed<unsigned long> { typedef long type; };
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> struct make_unsigned { typedef T type; };
template <> struct make_unsigned<signed char> { typedef unsigned char type; };
template <> struct make_unsigned<short> { typedef unsigned short type; };
template <> struct make_unsigned<int> { typedef unsigned type; };
template <> struct make_unsigned<long> { typedef unsigned long type; };
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;

template <class...> using void_t = void;
template <class T> struct is_void : is_same<remove_cv_t<T>, void> {};
template <class T> struct is_arithmetic : integral_constant<bool, is_integral<T>::value || is_floating_point<T>::value> {};
template <class T> struct is_const : false_type {};
template <class T> struct is_const<const T> : true_type {};
template <class T> struct is_reference : false_type {};
template <class T> struct is_reference<T &> : true_type {};
template <class T> struct is_reference<T &&> : true_type {};
template <class T> struct is_array : false_type {};
template <class T, size_t N> struct is_array<T[N]> : true_type {};
template <class T> struct is_enum : integral_constant<bool, __is_enum(T)> {};
template <class T> struct is_class : integral_constant<bool, __is_class(T)> {};
template <class T> struct is_trivially_copyable : integral_constant<bool, __is_trivially_copyable(T)> {};
template <class A, class B> struct is_base_of : integral_constant<bool, __is_base_of(A, B)> {};
template <class A, class B> struct is_convertible : integral_constant<bool, __is_convertible_to(A, B)> {};
template <class T, class... A> struct is_constructible : integral_constant<bool, __is_constructible(T, A...)> {};
template <class T> struct is_default_constructible : is_constructible<T> {};
template <class A, class B> struct is_assignable : integral_constant<bool, __is_assignable(A, B)> {};
#define __mlusim_value__(name_) template <class T> inline constexpr bool name_##_v = name_<T>::value;
__mlusim_value__(is_void)
__mlusim_value__(is_arithmetic)
__mlusim_value__(is_const)
__mlusim_value__(is_reference)
__mlusim_value__(is_array)
__mlusim_value__(is_enum)
__mlusim_value__(is_class)
__mlusim_value__(is_pointer)
__mlusim_value__(is_signed)
__mlusim_value__(is_unsigned)
__mlusim_value__(is_trivially_copyable)
__mlusim_value__(is_default_constructible)
#undef __mlusim_value__
template <class A, class B> inline constexpr bool is_base_of_v = is_base_of<A, B>::value;
template <class A, class B> inline constexpr bool is_convertible_v = is_convertible<A, B>::value;
template <class T, class... A> inline constexpr bool is_constructible_v = is_constructible<T, A...>::value;
template <class...> struct conjunction : true_type {};
template <class F, class... R> struct conjunction<F, R...> : conditional_t<bool(F::value), conjunction<R...>, F> {};
template <class...> struct disjunction : false_type {};
template <class F, class... R> struct disjunction<F, R...> : conditional_t<bool(F::value), F, disjunction<R...>> {};
template <class T> struct negation : integral_constant<bool, !bool(T::value)> {};
template <class... T> inline constexpr bool conjunction_v = conjunction<T...>::value;
template <class... T> inline constexpr bool disjunction_v = disjunction<T...>::value;
template <class T> inline constexpr bool negation_v = negation<T>::value;
template <class T> struct add_const { typedef const T type; };
template <class T> struct add_pointer { typedef remove_reference_t<T> *type; };
template <class T> using add_const_t = typename add_const<T>::type;
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> struct remove_cvref { typedef remove_cv_t<remove_reference_t<T>> type; };
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;
template <class T> struct remove_extent { typedef T type; };
template <class T> struct remove_extent<T[]> { typedef T type; };
template <class T, size_t N> struct remove_extent<T[N]> { typedef T type; };
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> struct underlying_type { typedef __underlying_type(T) type; };
template <class T> using underlying_type_t = typename underlying_type<T>::type;
template <class T> T &&declval() noexcept;
template <class... T> struct common_type;
template <class T> struct common_type<T> { typedef decay_t<T> type; };
template <class A, class B, class... R> struct common_type<A, B, R...>
    : common_type<decltype(true ? declval<A>() : declval<B>()), R...> {};
template <class... T> using common_type_t = typename common_type<T...>::type;
template <class F, class... A> struct invoke_result { typedef decltype(declval<F>()(declval<A>()...)) type; };
template <class F, class... A> using invoke_result_t = typename invoke_result<F, A...>::type;

template <class T> __mlusim_both__ constexpr T &&forward(typename remove_reference<T>::type &t) {
  return static_cast<T &&>(t);
}
template <class T> __mlusim_both__ constexpr typename remove_reference<T>::type &&move(T &&t) {
  return static_cast<typename remove_reference<T>::type &&>(t);
}

template <class T> struct numeric_limits;
#define __mlusim_limits__(T, lowest_, min_, max_, epsilon_, infinity_)                       \
  template <> struct numeric_limits<T> {                                                     \
    static constexpr bool is_specialized = true;                                             \
    __mlusim_both__ static constexpr T lowest() { return lowest_; }                          \
    __mlusim_both__ static constexpr T min() { return min_; }                                \
    __mlusim_both__ static constexpr T max() { return max_; }                                \
    __mlusim_both__ static constexpr T epsilon() { return epsilon_; }                        \
    __mlusim_both__ static constexpr T infinity() { return infinity_; }                      \
  };
__mlusim_limits__(bool, false, false, true, false, false)
__mlusim_limits__(char, INT8_MIN, INT8_MIN, INT8_MAX, 0, 0)
__mlusim_limits__(signed char, INT8_MIN, INT8_MIN, INT8_MAX, 0, 0)
__mlusim_limits__(unsigned char, 0, 0, UINT8_MAX, 0, 0)
__mlusim_limits__(short, INT16_MIN, INT16_MIN, INT16_MAX, 0, 0)
__mlusim_limits__(unsigned short, 0, 0, UINT16_MAX, 0, 0)
__mlusim_limits__(int, INT_MIN, INT_MIN, INT_MAX, 0, 0)
__mlusim_limits__(unsigned, 0, 0, UINT_MAX, 0, 0)
__mlusim_limits__(long, LONG_MIN, LONG_MIN, LONG_MAX, 0, 0)
__mlusim_limits__(unsigned long, 0, 0, ULONG_MAX, 0, 0)
__mlusim_limits__(float, -FLT_MAX, FLT_MIN, FLT_MAX, FLT_EPSILON, INFINITY)
__mlusim_limits__(double, -DBL_MAX, DBL_MIN, DBL_MAX, DBL_EPSILON, INFINITY)
}  // namespace std

// These reveal functions of a template's class that the parser hides: its destructor, and the begin and end of range-based loops.
template <class T> __mlusim_both__ void __mlusim_end(T *p) { p->~T(); }
template <class T> __mlusim_both__ auto __mlusim_begin(T *p) { return p->begin(); }
template <class T> __mlusim_both__ auto __mlusim_stop(T *p) { return p->end(); }

#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
  ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, __LINE__, __func__))
#endif
extern "C" __mlusim_both__ void __assert_fail(const char *, const char *, unsigned int, const char *);
