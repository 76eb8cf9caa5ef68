// The program's end of the connection to the simulator: one request at a time, from any thread.
#pragma once
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <string>

#include "cnrt.h"
#include "protocol.h"

#define CALLER ((void *)__builtin_return_address(0))

#pragma GCC visibility push(default)
namespace mlusim {

struct Reply {
  cnrtRet_t code = cnrtSuccess;
  uint64_t value = 0;
  std::string data;
};

// Send a request to the simulator, which is started at the first one; prints its messages on standard error.
Reply ask(Op op, std::initializer_list<uint64_t> words = {}, void *caller = nullptr, const void *data = nullptr, size_t bytes = 0, int device = -1);

// Return whether launches may be sent without a reply: no command observes the program, and no error has to end it or be raised at the launch.
bool gives();
// Send such a launch to the simulator, at the latest with the next request; its error then becomes one of this thread. Returns false if it needs a
// request with a reply.
bool give(std::initializer_list<uint64_t> words, void *caller, const void *data, size_t bytes);
// Wait until all earlier launches are done.
void settle_launches();

// Store an error for cnrtGetLastError, and end the program if MLUSIM_ERRORS requires it.
cnrtRet_t done(cnrtRet_t code);
// Reject a call with a sentence, which the simulator stores as a finding if a command observes the program.
cnrtRet_t refuse(cnrtRet_t code, void *caller, const std::string &sentence);

// During its lifetime, the simulator's messages to this thread are stored in `text` instead of being printed on standard error.
struct Heard {
  Heard();
  ~Heard();
  std::string text;
  Heard *outer;
};
// Called by a failed launch instead of returning its error, with the simulator's message; it may throw.
using Trapped = void (*)(cnrtRet_t code, const std::string &text);
void when_trapped(Trapped call);
Trapped trapped();
// Called before each launch to report the launch's line.
using Launching = void (*)();
void when_launching(Launching call);
void tell_launch();

// Return whether no request is in progress: a signal handler may then send one.
bool may_ask();
// The handler of SIGSEGV: the host uses an address of the device, or memory that a copy may still use.
void signalled(int number, siginfo_t *info, void *context);
// Return the address in this process of the bytes at a device address.
char *mapped(uint64_t address);
// Move bytes of the host to a device address; *fresh*: there were none before, so the system need not clear pages first.
void move_to_device(uint64_t address, const void *source, size_t bytes, bool fresh);

int current_device();
void choose_device(int number);
uint64_t board_attribute(const char *name, int device = -1);  // 0 if it has none
cnrtRet_t last_error(bool forget);
// Calls shared by several libraries; *caller* is the return address of the program's call.
cnrtRet_t allocate(void **pointer, size_t bytes, void *caller, const char *call);
cnrtRet_t give_back(void *pointer, void *caller);
cnrtRet_t copy(void *target, const void *source, size_t bytes, cnrtMemTransDir_t direction, uint64_t queue, void *caller, const char *call);
cnrtRet_t set(void *target, uint32_t value, size_t width, size_t count, uint64_t queue, void *caller);
cnrtRet_t make_queue(cnrtQueue_t *queue, void *caller);
cnrtRet_t end_queue(cnrtQueue_t queue, void *caller);
cnrtRet_t sync_queue(uint64_t queue, void *caller);
cnrtRet_t waiting(Op op, uint64_t what, void *caller);  // a request that waits for work
cnrtRet_t make_notifier(cnrtNotifier_t *notifier, unsigned flags, void *caller);
cnrtRet_t end_notifier(cnrtNotifier_t notifier, void *caller);
cnrtRet_t place(cnrtNotifier_t notifier, cnrtQueue_t queue, void *caller);
cnrtRet_t wait_for(cnrtNotifier_t notifier, void *caller);
cnrtRet_t duration(cnrtNotifier_t from, cnrtNotifier_t to, float *found, double unit, void *caller);
cnrtRet_t call_host_function(cnrtQueue_t queue, cnrtHostFn_t function, void *data, void *caller);
cnrtRet_t launch(const void *stub, cnrtDim3_t dim, cnrtFunctionType_t kind, void **args, cnrtQueue_t queue, void *caller);
// Store a copy of device code written by cncc, of at most *bytes*; return 0 for other data, otherwise its number from 1.
size_t load_module(const char *data, size_t bytes);
// Return the kernel of that module called *name*, mangled or plain.
cnrtRet_t find_kernel(size_t module, const char *name, const void **kernel, void *caller);
// Return the address and the size of a variable at file scope, by its address on the host.
cnrtRet_t find_symbol(const void *symbol, uint64_t *address, size_t *bytes, void *caller, const char *call);
// Mark a piece of cnrtHostMalloc as managed by a library, which frees it itself.
void manage_pinned(void *pointer);
bool there_is(int device);
constexpr uint64_t EVERY = 1, UNWAITED = 2;  // values that are not handles of queues: all of a device (or no launch), and the default one without waiting
inline uint64_t unwaited(cnrtQueue_t queue) { return queue ? (uint64_t)queue : UNWAITED; }
void behind_host_functions(cnrtHostFn_t function, void *data);  // called at once if no host function waits
void forget_host_functions();  // in a child, which has no threads
void wait_for_host_functions();  // returns when all functions given to queues are done

}  // namespace mlusim
#pragma GCC visibility pop
