#include "shared.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "wire.h"

namespace mlusim {
namespace {

constexpr char TABLE[] = "mlusim-shared", MEMORY[] = "mlusim";  // names of the memory files, by which other processes find them
constexpr size_t MOST = 1 << 16;                                // most objects that a process shares

// A handle: the process in 22 bits, a number that changes between uses in 26, the entry in 16.
struct Entry {
  std::atomic<uint64_t> handle;        // 0: no longer shared
  uint64_t address, bytes;             // of memory: its address and bytes
  std::atomic<uint64_t> placed, done;  // of a notifier: how often it was placed, and how many of the placements are done
};
uint64_t pid_of(uint64_t handle) { return handle >> 42; }
size_t entry_of(uint64_t handle) { return handle & (MOST - 1); }

struct Shared {
  Entry *entry;
  Entry *table = nullptr;  // another process's table, mapped here
};
struct Sharing {
  std::mutex lock;
  Entry *table = nullptr;
  size_t used = 0;
  uint64_t times = 0;
  int file = -1;
  std::map<void *, uint64_t> memory;  // handles by address
  std::map<cnrtNotifier_t, Shared> notifiers;
};
Sharing &sharing() {
  static Sharing *one = new Sharing;
  return *one;
}

Entry *mapped_table(int file) {
  void *at = mmap(nullptr, MOST * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, MOST * sizeof(Entry), MADV_DONTFORK);
  return (Entry *)at;
}
void unmap_table(Entry *table) { munmap((void *)table, MOST * sizeof(Entry)); }

// Return a new entry of this process, with the lock held; null if there are too many.
Entry *new_entry() {
  Sharing &s = sharing();
  if (!s.table) {
    s.file = memfd_create(TABLE, MFD_CLOEXEC);
    if (s.file < 0 || ftruncate(s.file, MOST * sizeof(Entry)) != 0) return nullptr;
    s.table = mapped_table(s.file);
    if (getrandom(&s.times, sizeof s.times, GRND_NONBLOCK) < 0) s.times = (uint64_t)getpid();
  }
  for (size_t tried = 0; s.table && tried < MOST; ++tried) {
    size_t at = s.used++ % MOST;
    if (s.table[at].handle) continue;
    Entry &one = s.table[at];
    one.address = one.bytes = 0;
    one.placed = one.done = 0;
    one.handle = (uint64_t)getpid() << 42 | (++s.times & ((1ull << 26) - 1)) << 16 | at;
    return &one;
  }
  return nullptr;
}

// Return the path of a memory file of another process; empty if there is none that this process may open.
std::string file_of(uint64_t pid, const char *name) {
  std::string folder = "/proc/" + std::to_string(pid) + "/fd", found;
  std::string wanted = std::string("/memfd:") + name + " (deleted)";
  DIR *list = opendir(folder.c_str());
  if (!list) return found;
  while (dirent *one = readdir(list)) {
    char target[PATH_MAX];
    std::string path = folder + "/" + one->d_name;
    ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length == (ssize_t)wanted.size() && !wanted.compare(0, wanted.size(), target, length)) found = path;
  }
  closedir(list);
  return found;
}

// Return the table of the process that created a handle, and its entry; null with a reason for an invalid handle.
Entry *found_entry(uint64_t handle, std::string &why) {
  if (pid_of(handle) == (uint64_t)getpid()) {
    why = "a handle of this process itself; use what it was made of";
    return nullptr;
  }
  std::string path = file_of(pid_of(handle), TABLE);
  int file = path.empty() ? -1 : open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    why = "a handle of no process that is there and whose memory this one may read (process " + std::to_string(pid_of(handle)) + ")";
    return nullptr;
  }
  Entry *table = mapped_table(file);
  close(file);
  if (table && table[entry_of(handle)].handle == handle) return table;
  if (table) unmap_table(table);
  why = "a handle whose memory was freed, or whose notifier was destroyed, in process " + std::to_string(pid_of(handle));
  return nullptr;
}

cnrtRet_t refused(void *caller, const char *call, const std::string &why) { return refuse(cnrtErrorArgsInvalid, caller, std::string(call) + " is given " + why); }

size_t page() {
  static const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  return bytes;
}

// Map the pages of a device address to a file from a byte on, or to no file if it is -1.
bool lay(uint64_t address, size_t bytes, int file, uint64_t from) {
  size_t within = address % page(), whole = (within + bytes + page() - 1) / page() * page();
  int flags = MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  void *at = mapped(address - within);
  if (mmap(at, whole, PROT_READ | PROT_WRITE, flags, file, (off_t)(from - within)) == MAP_FAILED) return false;
  madvise(at, whole, MADV_DONTFORK);
  madvise(at, whole, MADV_DONTDUMP);
  return true;
}

Shared *shared(cnrtNotifier_t notifier) {
  auto found = sharing().notifiers.find(notifier);
  return found == sharing().notifiers.end() ? nullptr : &found->second;
}

}  // namespace

cnrtRet_t share_memory(cnrtIpcMemHandle *handle, void *pointer, void *caller, const char *call) {
  if (!handle) return refused(caller, call, "no place for the handle");
  Reply reply = ask(OP_SHARE, {(uint64_t)pointer}, caller, call, strlen(call));
  if (reply.code != cnrtSuccess) return done(reply.code);
  Sharing &s = sharing();
  std::lock_guard<std::mutex> held(s.lock);
  uint64_t &known = s.memory[pointer];
  if (!known) {
    Entry *entry = new_entry();
    if (!entry) return refuse(cnrtErrorNoMem, caller, "a process cannot share more than " + std::to_string(MOST) + " things");
    entry->address = (uint64_t)pointer, entry->bytes = reply.value;
    known = entry->handle;
  }
  *handle = (cnrtIpcMemHandle)known;
  return cnrtSuccess;
}

cnrtRet_t map_memory(void **pointer, cnrtIpcMemHandle handle, int flags, void *caller, const char *call) {
  if (!pointer) return refused(caller, call, "no place for the pointer");
  (void)flags;  // 0, or access by a peer, which every device has
  std::string why;
  Entry *table = found_entry((uint64_t)handle, why);
  if (!table) return refused(caller, call, why);
  const Entry &entry = table[entry_of((uint64_t)handle)];
  uint64_t from = entry.address - GDRAM_BASE, bytes = entry.bytes;
  unmap_table(table);
  std::string path = bytes ? file_of(pid_of((uint64_t)handle), MEMORY) : "";
  int file = path.empty() ? -1 : open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return refused(caller, call, bytes ? "a handle of a process that has closed the simulator's files" : "the handle of a notifier");
  Reply reply = ask(OP_MAP, {from, bytes}, caller, path.data(), path.size());
  if (reply.code == cnrtSuccess && !lay(reply.value, bytes, file, from)) reply.code = cnrtErrorNoMem;
  close(file);
  *pointer = reply.code == cnrtSuccess ? (void *)reply.value : nullptr;
  return done(reply.code);
}

cnrtRet_t unmap_memory(void *pointer, void *caller) {
  wait_for_host_functions();
  Reply reply = ask(OP_UNMAP, {(uint64_t)pointer}, caller);
  if (reply.code == cnrtSuccess) lay((uint64_t)pointer, reply.value, -1, (uint64_t)pointer);
  return done(reply.code);
}

void end_sharing(void *pointer) {
  Sharing &s = sharing();
  std::lock_guard<std::mutex> held(s.lock);
  auto known = s.memory.find(pointer);
  if (known == s.memory.end()) return;
  s.table[entry_of(known->second)].handle = 0;
  s.memory.erase(known);
}

cnrtRet_t share_notifier(cnrtIpcNotifierHandle *handle, cnrtNotifier_t notifier, void *caller, const char *call) {
  if (!handle) return refused(caller, call, "no place for the handle");
  std::lock_guard<std::mutex> held(sharing().lock);
  Shared *one = shared(notifier);
  if (!one || one->table) return refused(caller, call, one ? "a notifier of another process, which alone gives its handle" : "a notifier that was not made with CNRT_NOTIFIER_INTERPROCESS");
  *handle = {};
  handle->res[0] = one->entry->handle;
  return cnrtSuccess;
}

cnrtRet_t open_notifier(cnrtNotifier_t *notifier, const cnrtIpcNotifierHandle &handle, void *caller, const char *call) {
  if (!notifier) return refused(caller, call, "no place for the notifier");
  std::string why;
  Entry *table = found_entry(handle.res[0], why);
  if (!table) return refused(caller, call, why);
  if (table[entry_of(handle.res[0])].bytes) {
    unmap_table(table);
    return refused(caller, call, "the handle of memory");
  }
  Reply reply = ask(OP_NOTIFIER, {1, 1}, caller);
  *notifier = (cnrtNotifier_t)reply.value;
  std::lock_guard<std::mutex> held(sharing().lock);
  sharing().notifiers[*notifier] = {&table[entry_of(handle.res[0])], table};
  return done(reply.code);
}

bool notify_others(cnrtNotifier_t notifier) {
  std::lock_guard<std::mutex> held(sharing().lock);
  Entry *entry = new_entry();
  if (entry) sharing().notifiers[notifier] = {entry};
  return entry;
}

void end_shared(cnrtNotifier_t notifier) {
  std::unique_lock<std::mutex> held(sharing().lock);
  if (!shared(notifier)) return;
  held.unlock();
  wait_for_host_functions();  // it may be placed after a host function
  held.lock();
  Shared *one = shared(notifier);
  if (!one) return;
  if (one->table) unmap_table(one->table);
  else one->entry->handle = 0;
  sharing().notifiers.erase(notifier);
}

void placed(cnrtNotifier_t notifier) {
  std::lock_guard<std::mutex> held(sharing().lock);
  Shared *one = shared(notifier);
  if (!one) return;
  one->entry->placed += 1;
  behind_host_functions([](void *entry) { ((Entry *)entry)->done += 1; }, one->entry);
}

bool met(cnrtNotifier_t notifier) {
  std::lock_guard<std::mutex> held(sharing().lock);
  Shared *one = shared(notifier);
  return !one || one->entry->done >= one->entry->placed;
}

void wait_until_met(cnrtNotifier_t notifier) {
  std::unique_lock<std::mutex> held(sharing().lock);
  Shared *one = shared(notifier);
  if (!one) return;
  uint64_t wanted = one->entry->placed, pid = pid_of(one->entry->handle);
  while ((one = shared(notifier)) && one->entry->done < wanted) {
    if (one->table && pid && kill((pid_t)pid, 0) != 0 && errno == ESRCH) return;  // work that its process has not done will never be done
    held.unlock();
    usleep(100);
    held.lock();
  }
}

void forget_shared() {
  Sharing &s = sharing();
  if (s.file >= 0) close(s.file);
  new (&s) Sharing;  // tables are not mapped in a child
}

}  // namespace mlusim
