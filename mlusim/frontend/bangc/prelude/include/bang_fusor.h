// Chains of element-wise steps.
#pragma once
#include "mlu.h"

namespace bang {
namespace experimental {
template <class T>
struct fusor {
  __mlusim_both__ fusor(T *dst, T *src, unsigned n);
  __mlusim_both__ fusor &add(T);
  __mlusim_both__ fusor &add(T *);
  __mlusim_both__ fusor &sub(T);
  __mlusim_both__ fusor &sub(T *);
  __mlusim_both__ fusor &mul(T);
  __mlusim_both__ fusor &mul(T *);
  __mlusim_both__ fusor &div(T);
  __mlusim_both__ fusor &div(T *);
  __mlusim_both__ fusor &sqrt();
  __mlusim_both__ fusor &rsqrt();
};
}  // namespace experimental
}  // namespace bang
