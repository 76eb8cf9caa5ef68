// The program's end of the wire to the simulator: one request at a time, from any thread.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>

#include "cnrt.h"
#include "protocol.h"

#define CALLER ((void *)__builtin_return_address(0))

namespace mlusim {

struct Reply {
  cnrtRet_t code = cnrtSuccess;
  uint64_t value = 0;
  std::string data;
};

// Ask the simulator, which is started when it is first asked; says on standard error what it has to say.
Reply ask(Op op, std::initializer_list<uint64_t> words = {}, void *caller = nullptr, const void *data = nullptr, size_t bytes = 0, int device = -1);

// Keep an error for cnrtGetLastError, and end the program where MLUSIM_ERRORS says so.
cnrtRet_t done(cnrtRet_t code);
// Refuse a call with a sentence, which the simulator keeps as a finding where it watches.
cnrtRet_t refuse(cnrtRet_t code, void *caller, const std::string &sentence);

// Where the bytes of a device address lie in this process.
char *mapped(uint64_t address);

int current_device();
void choose_device(int number);
uint64_t board_attribute(const char *name, int device = -1);  // 0 where it has none
cnrtRet_t last_error(bool forget);
void wait_for_host_functions();  // those that were given to queues are done

}  // namespace mlusim
