// Clocks and durations.
#pragma once

namespace std {
template <long N, long D = 1> struct ratio {
  static constexpr long num = N, den = D;
};
typedef ratio<1, 1000> milli;
typedef ratio<1, 1000000> micro;
typedef ratio<1, 1000000000> nano;
namespace chrono {
template <class R, class P = ratio<1>> struct duration {
  typedef R rep;
  typedef P period;
  duration();
  explicit duration(R);
  template <class S, class Q> duration(const duration<S, Q> &);
  R count() const;
};
typedef duration<long, nano> nanoseconds;
typedef duration<long, micro> microseconds;
typedef duration<long, milli> milliseconds;
typedef duration<long> seconds;
template <class D, class S, class Q> D duration_cast(const duration<S, Q> &);
struct time_point {
  nanoseconds time_since_epoch() const;
};
nanoseconds operator-(const time_point &, const time_point &);
struct steady_clock {
  typedef chrono::time_point time_point;
  static time_point now();
};
typedef steady_clock high_resolution_clock;
typedef steady_clock system_clock;
}  // namespace chrono
}  // namespace std
