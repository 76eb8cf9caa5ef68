// The program's end of the wire to the simulator: one request at a time, from any thread.
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

// Ask the simulator, which is started when it is first asked; says on standard error what it has to say.
Reply ask(Op op, std::initializer_list<uint64_t> words = {}, void *caller = nullptr, const void *data = nullptr, size_t bytes = 0, int device = -1);

// Whether launches may be given without an answer: no command watches, and no error has to end the program or be raised where it is launched.
bool gives();
// Give the simulator such a launch, at the latest when something is asked; its error is one of this thread then.  False where it has to be asked for.
bool give(std::initializer_list<uint64_t> words, void *caller, const void *data, size_t bytes);
// Wait until what was given is done.
void settle_launches();

// Keep an error for cnrtGetLastError, and end the program where MLUSIM_ERRORS says so.
cnrtRet_t done(cnrtRet_t code);
// Refuse a call with a sentence, which the simulator keeps as a finding where it watches.
cnrtRet_t refuse(cnrtRet_t code, void *caller, const std::string &sentence);

// While one lives, what the simulator has to say to this thread is kept in `text` and not written to standard error.
struct Heard {
  Heard();
  ~Heard();
  std::string text;
  Heard *outer;
};
// What a launch that goes wrong calls in place of returning its error, with what the simulator says; it may throw.
using Trapped = void (*)(cnrtRet_t code, const std::string &text);
void when_trapped(Trapped call);
Trapped trapped();
// What is called before each launch, and may tell where it comes from.
using Launching = void (*)();
void when_launching(Launching call);
void tell_launch();

// Whether no call asks the simulator just now: a signal that comes then may ask.
bool may_ask();
// What hears of SIGSEGV: the host uses an address of the device, or memory that a copy may still use.
void signalled(int number, siginfo_t *info, void *context);
// Where the bytes of a device address lie in this process.
char *mapped(uint64_t address);
// Move bytes of the host to a device address; *fresh*: nothing was there before, so that the system need not clear pages first.
void move_to_device(uint64_t address, const void *source, size_t bytes, bool fresh);

int current_device();
void choose_device(int number);
uint64_t board_attribute(const char *name, int device = -1);  // 0 where it has none
cnrtRet_t last_error(bool forget);
// What several libraries have calls for; *caller* is the address to which the program's call returns.
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
// Keep a copy of device code that cncc has written, of *bytes* at most; 0 where it is something else, otherwise its number from 1.
size_t load_module(const char *data, size_t bytes);
// The kernel of that module called *name*, mangled or plain.
cnrtRet_t find_kernel(size_t module, const char *name, const void **kernel, void *caller);
// The address and the size of a variable at file scope, by what stands for it on the host.
cnrtRet_t find_symbol(const void *symbol, uint64_t *address, size_t *bytes, void *caller, const char *call);
// A library that manages this piece of cnrtHostMalloc frees it by itself.
void manage_pinned(void *pointer);
bool there_is(int device);
constexpr uint64_t EVERY = 1, UNWAITED = 2;  // no handles of queues: all of a device (or no launch), and the usual one without waiting
inline uint64_t unwaited(cnrtQueue_t queue) { return queue ? (uint64_t)queue : UNWAITED; }
void behind_host_functions(cnrtHostFn_t function, void *data);  // called at once where no function waits
void forget_host_functions();  // in a child, whose threads are gone
void wait_for_host_functions();  // those that were given to queues are done

}  // namespace mlusim
#pragma GCC visibility pop
