// The requests and replies between a program and its simulator, over a SOCK_SEQPACKET socket; the server reads the numbers from here.
#pragma once
#include <cstdint>

enum Op : uint32_t {
  OP_IMAGE = 1,             // payload: the data embedded by the compiler; the reply is its number
  OP_KERNEL = 2,            // a: image, stub; payload: the kernel's symbol
  OP_SIZES = 3,             // a: stub, queue of the requesting launch; the reply is 1 if the kernel may print, else 0; its payload: the sizes in bytes of the kernel's parameters, u32 each
  OP_LAUNCH = 4,            // a: stub, x | y << 32, z | kind << 32, queue; payload: the bytes of the parameters
  OP_MALLOC = 5,            // a: bytes; payload: the purpose, if a library manages memory; the reply is the address
  OP_FREE = 6,              // a: address
  OP_COPY = 7,              // a: target, source, bytes, direction, queue; sent before the program moves the bytes; the reply is 1 if the target had no bytes yet, 2 if the simulator has moved them; its payload: the number, u64, of a queue's copy whose host bytes are guarded; for another copy as in OP_SYNC
  OP_SET = 8,               // a: address, bytes, queue, value, bytes of the value; sent before the program sets them; the reply is 2 if the simulator has set them
  OP_QUEUE = 9,             // the reply is a new queue
  OP_QUEUE_END = 10,        // a: queue
  OP_SYNC = 11,             // a: queue, or 1 for every queue of the device; 1 to clear its errors, else 0; payload of the reply, also of other waits: copies that are still guarded, u64 each
  OP_NOTIFIER = 12,         // a: not 0 if its time is not needed, not 0 if it belongs to another process; the reply is a new notifier
  OP_NOTIFIER_END = 13,     // a: notifier
  OP_PLACE = 14,            // a: notifier, queue
  OP_WAIT = 15,             // a: notifier
  OP_DURATION = 16,         // a: from, to; the reply is microseconds, a double
  OP_QUEUE_WAIT = 17,       // a: queue, notifier
  OP_ATTRIBUTE = 18,        // payload: its name; the reply is the value
  OP_NAME = 19,             // payload of the reply: the board's name
  OP_MEMORY = 20,           // payload of the reply: free and total bytes of GDRAM, u64 each
  OP_WHERE = 21,            // a: address; payload of the reply: a description of the memory there
  OP_KIND = 22,             // a: address; the reply is the number of the device whose memory it is, -1 for none
  OP_DEVICES = 23,          // the reply is the number of devices
  OP_RESET = 24,            // frees the memory of the device
  OP_RANGE = 25,            // a: address; payload of the reply: first address and bytes of its allocation, u64 each
  OP_REFUSED = 26,          // a: for a launch 1, queue, code, else 0; payload: a sentence about a call that the library itself rejected
  OP_CNNL = 27,             // payload: a call of cnnl
  OP_END = 28,              // the program ends; payload: for each piece of cnrtHostMalloc not freed the address of its call and its bytes, u64 each
  OP_TOUCHED = 30,          // a: number of a copy, byte: the host uses a byte that the copy may still use
  OP_SYMBOL = 31,           // a: image; payload: the mangled name of a variable at file scope; the reply is its address
  OP_SHARE = 32,            // a: address; payload: the call; other processes may map its allocation from now on; the reply is its bytes
  OP_MAP = 33,              // a: the first byte in a memory file of another process, bytes; payload: the file's path; the reply is the address
  OP_UNMAP = 34,            // a: address from OP_MAP; the reply is its bytes
  OP_CONSTANT = 35,         // a: the host's offset of a __mlu_const__ variable from the first address of its file; payload: the file's path; the reply is its address on the device; payload of the reply: its bytes, u64
  OP_DESCRIBE = 29,         // a: address, 1 if its elements are not contiguous; payload: the new name of its allocation
  OP_LINE = 36,             // payload: the line in another language of the next launch; the reply is 1 if a command observes the program
  OP_GIVEN = 37,            // a: as for OP_LAUNCH, the thread; a launch without a reply: its messages come with the next reply
  OP_SETTLED = 38,          // the reply follows the end of all earlier requests
};

struct Request {
  uint32_t op;
  int32_t device;
  uint64_t caller;          // the address of the program's call
  uint64_t a[5];
  uint64_t payload;         // bytes that follow, in this packet and in further ones; complete requests without a reply may come before a request
};

struct Answer {
  int32_t code;             // as cnrtRet_t
  uint32_t failed;          // bytes that follow: for each thread whose launch without a reply failed the thread and the code, u64 each
  uint32_t said;            // bytes for standard error, after them
  uint32_t printed;         // bytes for standard output, after those
  uint32_t payload;         // bytes of the payload, after those
  uint32_t unused;
  uint64_t value;
};

constexpr uint64_t MOVED = 2;                  // the reply to a copy or a set that the simulator has done
// Increased with every change of a request or a reply: a program keeps the library with which it was linked, while the server is the installed one.
#define MLUSIM_PROTOCOL "2"
constexpr uint64_t PACKET = 65536;             // bytes of the longest packet, and of unsent launches
constexpr uint64_t MOST_GIVEN = 4096;          // launches without a reply, after which the program waits
constexpr uint64_t GDRAM_BASE = 0x1000000000;  // the first address of device 0
