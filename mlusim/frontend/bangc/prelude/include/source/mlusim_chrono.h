// Clocks and durations as ordinary sources: the run-time has the time alone.
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
  R ticks;
  duration() : ticks(0) {}
  explicit duration(R n) : ticks(n) {}
  template <class S, class Q> duration(const duration<S, Q> &d)
      : ticks(static_cast<R>(static_cast<R>(d.ticks) * (Q::num * P::den) / (Q::den * P::num))) {}
  R count() const { return ticks; }
};
typedef duration<long, nano> nanoseconds;
typedef duration<long, micro> microseconds;
typedef duration<long, milli> milliseconds;
typedef duration<long> seconds;
template <class D, class S, class Q> D duration_cast(const duration<S, Q> &d) { return D(d); }
struct time_point {
  nanoseconds since;
  nanoseconds time_since_epoch() const { return since; }
};
inline nanoseconds operator-(const time_point &a, const time_point &b) {
  return nanoseconds(a.since.ticks - b.since.ticks);
}
struct steady_clock {
  typedef chrono::time_point time_point;
  static time_point now() {
    time_point t;
    t.since = nanoseconds(__mlusim_ns());
    return t;
  }
};
typedef steady_clock high_resolution_clock;
typedef steady_clock system_clock;
}  // namespace chrono
}  // namespace std
