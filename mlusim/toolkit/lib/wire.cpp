#include "wire.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <pthread.h>
#include <csignal>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "guards.h"
#include "kernels.h"
#include "shared.h"

extern char **environ;

namespace mlusim {
namespace {

constexpr uint64_t ADDRESSES = 1ull << 42;  // bytes of the map: addresses are never reused, and cost nothing until they are accessed
constexpr uint64_t LEAST = 1ull << 33;      // if the system allows no more

constexpr size_t WRITTEN = 1 << 20;         // bytes from which new pages are written to the file, instead of being mapped one by one

struct Wire {
  std::mutex lock;
  int socket = -1;
  char *memory = nullptr;
  int file = -1;        // the memory's file, for writes without mapping
  struct stat known{};  // the file at that number, which the program may close and reuse
  uint64_t bytes = 0;
  bool ended = false;
  std::vector<char> packet = std::vector<char>(PACKET);
  std::string given;                      // launches that are not sent yet
  uint64_t unanswered = 0;                // launches sent since the last reply
  std::map<uint64_t, cnrtRet_t> failures;  // failures of launches without a reply, by thread
};

Wire &wire() {
  static Wire *one = new Wire;  // never destroyed, because destructors of the program may still call
  return *one;
}

std::atomic<uint64_t> threads{0};
thread_local const uint64_t thread = ++threads;
thread_local cnrtRet_t last = cnrtSuccess;
thread_local int device = 0;
thread_local Heard *hearing = nullptr;
Trapped trapped_call = nullptr;
Launching launching_call = nullptr;
struct sigaction before_ours;

[[noreturn]] void give_up(const std::string &sentence) {
  fprintf(stderr, "error: %s\n", sentence.c_str());
  fflush(nullptr);
  _exit(3);
}

std::string why() { return strerror(errno); }

// ---- starting ----------------------------------------------------------------------------------

struct Settings {
  std::string python, board;
};

Settings settings() {
  Dl_info info{};
  dladdr((void *)&ask, &info);
  std::string path = info.dli_fname ? info.dli_fname : "";
  size_t slash = path.rfind('/');
  path = (slash == std::string::npos ? std::string(".") : path.substr(0, slash)) + "/mlusim.conf";
  std::ifstream file(path);
  Settings found;
  if (!std::getline(file, found.python) || !std::getline(file, found.board))
    give_up(path + " does not say which Python and which board to take; make the folder again with `mlusim toolkit`");
  if (const char *given = getenv("MLUSIM_BOARD")) found.board = given;
  return found;
}

int make_memory() {
  int memory = memfd_create("mlusim", MFD_CLOEXEC);
  if (memory < 0) give_up("the simulator's memory cannot be made: " + why());
  auto over = signal(SIGXFSZ, SIG_IGN);  // exceeding a limit of files is an error here, and does not end the process
  for (uint64_t bytes = ADDRESSES; bytes >= LEAST; bytes /= 2) {
    if (ftruncate(memory, bytes) != 0) continue;
    signal(SIGXFSZ, over);
    void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    if (map == MAP_FAILED) continue;
    madvise(map, bytes, MADV_DONTFORK);  // a child has a device of its own
    madvise(map, bytes, MADV_DONTDUMP);
    wire().memory = (char *)map;
    wire().bytes = bytes;
    return memory;
  }
  give_up("the simulator's memory cannot be mapped: " + why() + "; a limit of this shell (`ulimit -v`, `ulimit -f`) may be in its way");
}

bool kept(const char *variable) {
  for (const char *name : {"LD_PRELOAD=", "LD_LIBRARY_PATH=", "PYTHON", "MLUSIM_BOARD="})
    if (!strncmp(variable, name, strlen(name))) return false;
  return true;
}

// Close the open files in [first, end) that the system lists: under valgrind a range up to the largest number takes minutes.
void close_from(int first, rlim_t end) {
  alignas(8) char entries[4096];
  int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (list < 0) {
    syscall(SYS_close_range, (unsigned)first, ~0u, 0u);
    return;
  }
  for (bool closed = true; closed;) {  // repeated, because entries may be skipped while others are closed
    closed = false;
    lseek(list, 0, SEEK_SET);
    for (long got; (got = syscall(SYS_getdents64, list, entries, sizeof entries)) > 0;)
      for (long at = 0; at < got; at += *(unsigned short *)(entries + at + 16)) {
        int number = 0;
        const char *name = entries + at + 19;  // after an inode, an offset, a length and a type
        if (*name < '0' || *name > '9') continue;
        while (*name >= '0' && *name <= '9') number = 10 * number + (*name++ - '0');
        if (number >= first && (rlim_t)number < end && number != list) closed |= close(number) == 0;
      }
  }
}

// Fork without the handlers of the program, of a sanitizer and of ours: they prepare a child that continues the program, and that of the thread
// sanitizer starts a thread, after which a child cannot fork again.
pid_t bare_fork() { return syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); }

// Start the server as a grandchild, so that a program that waits for its children does not find it.
void start(int theirs, int memory) {
  Settings found = settings();
  std::string board = "MLUSIM_BOARD=" + found.board;
  std::vector<char *> environment;
  for (char **one = environ; *one; ++one)
    if (kept(*one)) environment.push_back(*one);
  environment.push_back((char *)board.c_str());
  environment.push_back(nullptr);
  const char *words[] = {found.python.c_str(), "-P", "-m", "mlusim.toolkit.server", "3", "4", MLUSIM_PROTOCOL, nullptr};
  theirs = fcntl(theirs, F_DUPFD, 10);
  memory = fcntl(memory, F_DUPFD, 10);
  int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  pid_t child = bare_fork();
  if (child == 0) {  // from here on only functions that are allowed in a child of a program with threads
    munmap(wire().memory, wire().bytes);  // the system has not copied it to the child, but valgrind assumes so
    if (bare_fork() == 0) {
      dup2(quiet, 0);
      dup2(quiet, 1);
      dup2(theirs, 3);
      dup2(memory, 4);
      close_from(5, files.rlim_cur);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      execve(words[0], (char **)words, environment.data());
      _exit(127);
    }
    _exit(0);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (child < 0) give_up("the simulator cannot be started: " + why());
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
  close(theirs);
  close(memory);
  close(quiet);
}

// Use the file with this number, which the parent, a simulator, gave to this process.
int take(const char *number) {
  static bool taken = false;
  if (taken) give_up("a process that host code has started has no simulator");
  taken = true;
  int own = atoi(number);
  fcntl(own, F_SETFD, FD_CLOEXEC);
  return own;
}

// Connect to the command of mlusim at this name, which started this program or its parent.
int reach(const char *name) {
  int own = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  size_t length = strlen(name);
  if (own < 0 || length + 1 > sizeof address.sun_path) give_up("MLUSIM_SERVER names no simulator");
  memcpy(address.sun_path + 1, name, length);
  if (connect(own, (sockaddr *)&address, offsetof(sockaddr_un, sun_path) + 1 + length) != 0)
    give_up("the command of mlusim that started this program has ended (MLUSIM_SERVER): " + why());
  return own;
}

int connect_to(const char *name, int memory) {
  int own = strncmp(name, "fd:", 3) ? reach(name) : take(name + 3);
  ucred simulator{};
  socklen_t bytes = sizeof simulator;
  if (getsockopt(own, SOL_SOCKET, SO_PEERCRED, &simulator, &bytes) == 0 && simulator.pid == getppid()) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // the process that started this program for its kernels may be killed
    if (getppid() != simulator.pid) give_up("the command of mlusim that started this program has ended");
  }
  std::string board = settings().board;
  char control[CMSG_SPACE(sizeof(int))] = {};
  iovec text{(void *)board.data(), board.size()};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(head), &memory, sizeof(int));
  if (sendmsg(own, &message, MSG_NOSIGNAL) < 0) give_up("the simulator does not answer: " + why());
  return own;
}

bool owns_file() {
  Wire &w = wire();
  struct stat there;
  return w.file >= 0 && fstat(w.file, &there) == 0 && there.st_dev == w.known.st_dev && there.st_ino == w.known.st_ino;
}

void forked() {  // in the child: it starts a simulator at its first request
  Wire &w = wire();
  new (&w.lock) std::mutex;
  if (w.socket >= 0) close(w.socket);
  w.socket = -1;
  if (owns_file()) close(w.file);
  w.file = -1;
  if (w.memory) munmap(w.memory, w.bytes);  // the system has not copied it to the child, but valgrind assumes so
  w.memory = nullptr;
  w.ended = false;
  w.given.clear(), w.failures.clear();
  w.unanswered = 0;
  forget_told();
  forget_host_functions();
  forget_guards();
  forget_shared();
}

void boot() {  // with the lock held
  Wire &w = wire();
  if (w.socket >= 0) return;
  static bool once = (pthread_atfork(nullptr, nullptr, forked), true);
  (void)once;
  int memory = make_memory();
  const char *name = getenv("MLUSIM_SERVER");
  if (name && *name) {
    w.socket = connect_to(name, memory);
  } else {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) give_up("the simulator cannot be reached: " + why());
    start(pair[1], memory);
    close(pair[1]);
    w.socket = pair[0];
  }
  w.file = fcntl(memory, F_DUPFD_CLOEXEC, 200);  // above the numbers of programs' files
  if (w.file >= 0 && fstat(w.file, &w.known) != 0) w.file = -1;
  close(memory);
  struct sigaction ours{}, there{};
  if (sigaction(SIGSEGV, nullptr, &there) == 0 && there.sa_sigaction != signalled) {
    before_ours = there;
    ours.sa_sigaction = signalled;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &ours, nullptr);
  }
}

// ---- requests ----------------------------------------------------------------------------------

[[noreturn]] void gone() {
  const char *name = getenv("MLUSIM_SERVER");
  if (name && *name) {  // a command of mlusim has ended, and with it the programs that it observes
    fflush(nullptr);
    _exit(3);
  }
  give_up("the simulator ended; what it said is above, if anything");
}

void send_packet(iovec *parts, size_t count) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  while (sendmsg(wire().socket, &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) gone();
}

void send_given() {
  std::string &given = wire().given;
  if (given.empty()) return;
  iovec all{given.data(), given.size()};
  send_packet(&all, 1);
  given.clear();
}

void send_all(const Request &request, const void *data) {
  std::string &given = wire().given;
  if (given.size() + sizeof request + request.payload > PACKET) send_given();
  size_t left = request.payload, now = std::min<size_t>(left, PACKET - sizeof request - given.size());
  iovec first[3] = {{given.data(), given.size()}, {(void *)&request, sizeof request}, {(void *)data, now}};
  send_packet(given.empty() ? first + 1 : first, 1 + !given.empty() + (now > 0));
  given.clear();
  for (const char *at = (const char *)data + now; left -= now; at += now) {
    now = std::min<size_t>(left, PACKET);
    iovec more{(void *)at, now};
    send_packet(&more, 1);
  }
}

size_t receive(char *into, size_t most) {
  for (;;) {
    ssize_t got = recv(wire().socket, into, most, 0);
    if (got > 0) return got;
    if (got < 0 && errno == EINTR) continue;
    gone();
  }
}

Reply exchange(const Request &request, const void *data) {  // with the lock held
  Wire &w = wire();
  send_all(request, data);
  size_t got = receive(w.packet.data(), PACKET);
  Answer answer;
  memcpy(&answer, w.packet.data(), sizeof answer);
  std::string all(w.packet.data() + sizeof answer, got - sizeof answer);
  while (all.size() < (size_t)answer.failed + answer.said + answer.printed + answer.payload) {
    got = receive(w.packet.data(), PACKET);
    all.append(w.packet.data(), got);
  }
  w.unanswered = 0;
  for (uint64_t at = 0, failure[2]; at < answer.failed; at += sizeof failure) {
    memcpy(failure, &all[at], sizeof failure);
    w.failures[failure[0]] = (cnrtRet_t)failure[1];
  }
  if (answer.failed) all.erase(0, answer.failed);
  if (answer.printed) fwrite(all.data() + answer.said, 1, answer.printed, stdout);
  if (answer.said) {
    if (hearing) {
      hearing->text.append(all, 0, answer.said);
    } else if (static const bool reported = getenv("MLUSIM_REPORTED"); !reported) {
      fflush(stdout);
      fwrite(all.data(), 1, answer.said, stderr);
    }
  }
  Reply reply;
  reply.code = (cnrtRet_t)answer.code;
  reply.value = answer.value;
  if (answer.payload) reply.data.assign(all, (size_t)answer.said + answer.printed, answer.payload);
  return reply;
}

// Store the failure of a launch of this thread without a reply as its error, with the lock held.
void take_failure() {
  auto found = wire().failures.find(thread);
  if (found == wire().failures.end()) return;
  last = found->second;
  wire().failures.erase(found);
}

}  // namespace

Reply ask(Op op, std::initializer_list<uint64_t> words, void *caller, const void *data, size_t bytes, int which) {
  Wire &w = wire();
  std::lock_guard<std::mutex> held(w.lock);
  if (w.ended) return {};
  boot();
  tell_kernels([](Op told, std::initializer_list<uint64_t> a, const void *d, size_t n) {
    Request request{told, 0, 0, {}, n};
    std::copy(a.begin(), a.end(), request.a);
    return exchange(request, d).value;
  });
  Request request{op, which < 0 ? device : which, (uint64_t)caller, {}, bytes};
  std::copy(words.begin(), words.end(), request.a);
  Reply reply = exchange(request, data);
  take_failure();
  return reply;
}

bool gives() {
  static const char *server = getenv("MLUSIM_SERVER");
  static const char *errors = getenv("MLUSIM_ERRORS");
  static const bool alone = !(server && *server) && !(errors && !strcmp(errors, "stop"));
  return alone && !trapped_call;
}

bool give(std::initializer_list<uint64_t> words, void *caller, const void *data, size_t bytes) {
  Wire &w = wire();
  std::lock_guard<std::mutex> held(w.lock);
  Request request{OP_GIVEN, device, (uint64_t)caller, {}, bytes};
  if (w.socket < 0 || w.unanswered >= MOST_GIVEN || sizeof request + bytes > PACKET) return false;
  if (w.given.size() + sizeof request + bytes > PACKET) send_given();
  *std::copy(words.begin(), words.end(), request.a) = thread;
  w.given.append((const char *)&request, sizeof request).append((const char *)data, bytes);
  ++w.unanswered;
  return true;
}

void settle_launches() {
  Wire &w = wire();
  bool open;
  {
    std::lock_guard<std::mutex> held(w.lock);
    open = w.unanswered && !w.ended;
    take_failure();
  }
  if (open) ask(OP_SETTLED);
}

cnrtRet_t done(cnrtRet_t code) {
  if (code == cnrtSuccess) return code;
  last = code;
  static const char *errors = getenv("MLUSIM_ERRORS");
  if (errors && !strcmp(errors, "stop") && code != cnrtErrorNotReady) {
    fflush(nullptr);
    _exit(3);
  }
  return code;
}

cnrtRet_t refuse(cnrtRet_t code, void *caller, const std::string &sentence) {
  ask(OP_REFUSED, {}, caller, sentence.data(), sentence.size());
  return done(code);
}

bool may_ask() {
  if (!wire().lock.try_lock()) return false;
  wire().lock.unlock();
  return true;
}

void signalled(int number, siginfo_t *info, void *context) {
  if (touches_guard(info->si_addr, context)) return;  // the access is repeated, and succeeds
  uint64_t address = (uint64_t)info->si_addr;
  Wire &w = wire();
  if (address >= GDRAM_BASE && address < GDRAM_BASE + w.bytes && w.socket >= 0 && may_ask()) {
    Reply found = ask(OP_WHERE, {address});
    fflush(stdout);
    fprintf(stderr, "error: the host uses the device address 0x%llx, %s; copy it with cnrtMemcpy\n", (unsigned long long)address, found.data.c_str());
    const char *errors = getenv("MLUSIM_ERRORS");
    if (errors && !strcmp(errors, "stop")) _exit(3);
  }
  sigaction(number, &before_ours, nullptr);  // the access is repeated, and ends the program as it would without us
}

Heard::Heard() : outer(hearing) { hearing = this; }
Heard::~Heard() { hearing = outer; }
void when_trapped(Trapped call) { trapped_call = call; }
Trapped trapped() { return trapped_call; }
void when_launching(Launching call) { launching_call = call; }
void tell_launch() {
  if (launching_call) launching_call();
}

void move_to_device(uint64_t address, const void *source, size_t bytes, bool fresh) {
  size_t done = 0;
  if (fresh && bytes >= WRITTEN && owns_file())
    while (done < bytes) {
      ssize_t now = pwrite(wire().file, (const char *)source + done, bytes - done, address - GDRAM_BASE + done);
      if (now > 0) done += now;
      else if (now == 0 || errno != EINTR) break;  // the copy itself reports an invalid source
    }
  if (done < bytes) memmove(mapped(address) + done, (const char *)source + done, bytes - done);
}

char *mapped(uint64_t address) { return wire().memory + (address - GDRAM_BASE); }

int current_device() { return device; }
void choose_device(int number) { device = number; }

cnrtRet_t last_error(bool forget) {
  settle_launches();
  cnrtRet_t code = last;
  if (forget) last = cnrtSuccess;
  return code;
}

uint64_t board_attribute(const char *name, int which) {
  return ask(OP_ATTRIBUTE, {}, nullptr, name, strlen(name), which).value;
}

}  // namespace mlusim

namespace {
// At its end, the program tells the simulator and waits for the reply, so that final findings are printed before the shell continues.
struct Leaving {
  ~Leaving() {
    using namespace mlusim;
    Wire &w = wire();
    if (w.socket < 0 || w.ended) return;
    std::string left = pinned_left();
    ask(OP_END, {}, nullptr, left.data(), left.size());
    std::lock_guard<std::mutex> held(w.lock);
    w.ended = true;
    char byte;
    shutdown(w.socket, SHUT_WR);
    while (recv(w.socket, &byte, 1, 0) < 0 && errno == EINTR) {}  // until the server has closed it
    // Read-only, because valgrind searches writable memory for pointers, however large. It accepts a new map at once, but changes a map byte by byte,
    // which takes a minute for a board's memory.
    if (owns_file()) mmap(w.memory, w.bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, w.file, 0);
  }
};
Leaving leaving;
}  // namespace
