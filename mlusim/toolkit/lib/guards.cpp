#include "guards.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include "wire.h"

namespace mlusim {
namespace {

struct Guard {
  uint64_t id;
  char *low, *high;    // the bytes of the copy
  char *first, *last;  // the protected pages
};
struct Guards {
  std::mutex lock;
  std::vector<Guard> all;
};
Guards &guards() {
  static Guards *one = new Guards;
  return *one;
}

size_t page() {
  static const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  return bytes;
}
char *up(const char *at) { return (char *)(((uintptr_t)at + page() - 1) & ~(page() - 1)); }
char *down(const char *at) { return (char *)((uintptr_t)at & ~(page() - 1)); }

// Find the pages that contain only these bytes, as far as that can be known; accesses to others' data would raise signals, or errors of the system.
void own_pages(const char *low, size_t bytes, char *&first, char *&last) {
  if (pinned_pages(low, first, last)) return;
  first = up(low), last = down(low + bytes);
#ifdef __GLIBC__
  if ((uintptr_t)low % page() == 2 * sizeof(size_t)) {  // malloc's own mapping: its size, with a flag, is stored before it
    size_t marked = ((const size_t *)low)[-1], whole = marked & ~(size_t)7;
    if ((marked & 2) && whole % page() == 0 && whole >= bytes + 2 * sizeof(size_t) && whole < bytes + 2 * sizeof(size_t) + page())
      first = down(low), last = first + whole;
  }
#endif
}

// Return whether all of the pages are readable, writable and private: they are restored to this state.
bool plain(const char *first, const char *last) {
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return false;
  const char *at = first;
  char line[512];
  while (at < last && fgets(line, sizeof line, maps)) {
    unsigned long start, stop;
    char rights[5];
    if (sscanf(line, "%lx-%lx %4s", &start, &stop, rights) != 3 || stop <= (uintptr_t)at) continue;
    if (start > (uintptr_t)at || strcmp(rights, "rw-p") != 0) break;
    at = (const char *)stop;
  }
  fclose(maps);
  return at >= last;
}

bool ours_hears() {
  struct sigaction now{};
  return sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == signalled;
}

void give_back(const Guard &one) { mprotect(one.first, one.last - one.first, PROT_READ | PROT_WRITE); }

// Remove the guards for which *over* is true, and restore their pages; other guards of the same pages stay.
template <class Over> void end_guards(const Over &over) {
  Guards &g = guards();
  std::lock_guard<std::mutex> held(g.lock);
  std::vector<Guard> left;
  for (const Guard &one : g.all) {
    if (over(one)) give_back(one);
    else left.push_back(one);
  }
  g.all.swap(left);
}

// Find the first call in the program's own code: the C library acts for its caller.
void *in_program(void *at) {
  void *frames[64];
  int count = backtrace(frames, 64), first = 0;
  while (first < count && frames[first] != at) ++first;
  for (int i = first; i < count; ++i) {
    Dl_info info{};
    const char *name = dladdr(frames[i], &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : nullptr;
    name = name ? name + 1 : "";
    bool of_library = false;
    for (const char *library : {"libc.", "libc-", "libm.", "libm-", "libstdc++.", "libcnrt.", "libgcc_s."}) of_library |= !strncmp(name, library, strlen(library));
    if (!of_library) return (char *)frames[i] + (frames[i] == at);  // callers are looked up one byte before their return address
  }
  return (char *)at + 1;
}

void *instruction(void *context) {
#if defined(__x86_64__)
  return (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (void *)((ucontext_t *)context)->uc_mcontext.pc;
#else
  (void)context;
  return nullptr;
#endif
}

}  // namespace

void guard(uint64_t id, const void *low, size_t bytes, bool written) {
  char *first, *last;
  own_pages((const char *)low, bytes, first, last);
  if (first >= last || !ours_hears() || !plain(first, last)) return;
  void *frame;
  backtrace(&frame, 1);  // loads everything it needs now, instead of in a signal handler
  Guards &g = guards();
  std::lock_guard<std::mutex> held(g.lock);
  g.all.push_back({id, (char *)low, (char *)low + bytes, first, last});
  mprotect(first, last - first, written ? PROT_NONE : PROT_READ);
}

void settle(const std::string &pending) {
  end_guards([&](const Guard &one) {
    for (size_t at = 0; at + 8 <= pending.size(); at += 8)
      if (!memcmp(&pending[at], &one.id, 8)) return false;
    return true;
  });
}

void unguard(const void *low, size_t bytes) {
  end_guards([&](const Guard &one) { return one.first < (char *)low + bytes && (char *)low < one.last; });
}

void forget_guards() {
  new (&guards().lock) std::mutex;
  end_guards([](const Guard &) { return true; });
}

bool touches_guard(void *address, void *context) {
  char *at = (char *)address;
  Guard found{};
  bool any = false, inside = false;
  end_guards([&](const Guard &one) {
    if (at < one.first || at >= one.last) return false;
    any = true;
    if (at >= one.low && at < one.high) found = one, inside = true;
    return true;
  });
  if (inside && may_ask()) ask(OP_TOUCHED, {found.id, (uint64_t)(at - found.low)}, in_program(instruction(context)));
  return any;
}

}  // namespace mlusim
