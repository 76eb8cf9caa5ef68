// cnnl: encodes a call's arguments, with the data at their pointers, for the stand-ins in the simulator.
#include <cstring>
#include <string>
#include <sys/uio.h>
#include <unistd.h>

#include "guards.h"
#include "wire.h"

using namespace mlusim;

namespace {

constexpr size_t MOST = 1024;   // bytes at a host pointer that a stand-in may read
constexpr size_t TENSORS = 32;  // descriptors, or pointers, in an array
constexpr size_t DESCRIPTOR = 19 * sizeof(int64_t);

// Each argument: a letter, the number of following bytes as u32, the bytes.
struct Call {
  std::string bytes;
  void put(char kind, const std::string &data) {
    uint32_t length = (uint32_t)data.size();
    bytes += kind;
    bytes.append((const char *)&length, 4);
    bytes += data;
  }
};

std::string word(uint64_t value) { return std::string((const char *)&value, 8); }

// Return up to *most* bytes at a pointer: fewer if memory ends.
std::string peek(const void *pointer, size_t most) {
  unguard(pointer, most);
  std::string found(most, 0);
  size_t got = 0;
  while (got < most) {
    size_t part = std::min(most - got, 4096 - ((uintptr_t)pointer + got) % 4096);
    iovec to{&found[got], part}, from{(char *)pointer + got, part};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)part) break;
    got += part;
  }
  found.resize(got);
  return found;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
void *__mlusim_cnnl_begin(const char *name) {
  Call *call = new Call;
  call->put('n', name);
  return call;
}
void __mlusim_cnnl_integer(void *call, long long value) { ((Call *)call)->put('i', word((uint64_t)value)); }
void __mlusim_cnnl_real(void *call, double value) { ((Call *)call)->put('f', std::string((const char *)&value, 8)); }
void __mlusim_cnnl_tensor(void *call, const void *desc) { ((Call *)call)->put('t', desc ? peek(desc, DESCRIPTOR) : std::string()); }
void __mlusim_cnnl_tensors(void *call, const void *const *descs) {
  std::string all, pointers = descs ? peek(descs, TENSORS * sizeof *descs) : std::string();
  for (size_t i = 0; i < pointers.size() / 8; ++i) {
    uint64_t one;
    memcpy(&one, &pointers[8 * i], 8);
    std::string desc = one ? peek((const void *)one, DESCRIPTOR) : std::string();
    if (desc.size() < DESCRIPTOR) break;
    all += desc;
  }
  ((Call *)call)->put('T', all);
}
void __mlusim_cnnl_handle(void *call, const void *handle) { ((Call *)call)->put('h', word((uint64_t)handle)); }
void __mlusim_cnnl_place(void *call, const void *place) { ((Call *)call)->put('H', word((uint64_t)place)); }
void __mlusim_cnnl_pointers(void *call, const void *const *pointers) {
  ((Call *)call)->put('P', word((uint64_t)pointers) + (pointers ? peek(pointers, TENSORS * sizeof *pointers) : std::string()));
}
void __mlusim_cnnl_pointer(void *call, const void *pointer, char kind, unsigned size) {
  std::string head = word((uint64_t)pointer) + kind + (char)size;
  ((Call *)call)->put('p', head + (pointer ? peek(pointer, MOST) : std::string()));
}
int __mlusim_cnnl_end(void *given) {
  Call *call = (Call *)given;
  wait_for_host_functions();
  Reply reply = ask(OP_CNNL, {}, CALLER, call->bytes.data(), call->bytes.size());
  delete call;
  for (size_t at = 0; at + 12 <= reply.data.size();) {  // the stand-in's stores to host memory: address, bytes
    uint64_t address;
    uint32_t length;
    memcpy(&address, &reply.data[at], 8);
    memcpy(&length, &reply.data[at + 8], 4);
    memcpy((void *)address, &reply.data[at + 12], length);
    at += 12 + length;
  }
  done(reply.code);
  return (int)reply.value;
}
}
#pragma GCC visibility pop
