// What a program and its simulator say to each other, over a SOCK_SEQPACKET socket; the server reads the numbers from here.
#pragma once
#include <cstdint>

enum Op : uint32_t {
  OP_RECORD = 1,            // payload: what the compiler embedded; answers its number
  OP_KERNEL = 2,            // a: record, stub; payload: the kernel's symbol
  OP_SIZES = 3,             // a: stub, queue of the launch that asks; answers 1 where the kernel may print, 0; payload of the answer: the sizes in bytes of its parameters, u32 each
  OP_LAUNCH = 4,            // a: stub, x | y << 32, z | kind << 32, queue; payload: the bytes of the parameters
  OP_MALLOC = 5,            // a: bytes; payload: what it is for, where a library manages memory; answers the address
  OP_FREE = 6,              // a: address
  OP_COPY = 7,              // a: target, source, bytes, direction, queue; asked before the program moves the bytes; answers 1 where none were at the target yet, 2 where the simulator has moved them; payload of the answer: the number, u64, of a queue's copy whose bytes of the host are watched, of another copy as for OP_SYNC
  OP_SET = 8,               // a: address, bytes, queue, value, bytes of the value; asked before the program sets them; answers 2 where the simulator has
  OP_QUEUE = 9,             // answers a new queue
  OP_QUEUE_END = 10,        // a: queue
  OP_SYNC = 11,             // a: queue, or 1 for every queue of the device; 1 where its errors are forgotten, 0; payload of the answer, of others that wait too: copies that are still watched, u64 each
  OP_NOTIFIER = 12,         // a: not 0 where no time is asked of it, not 0 where it is another process's; answers a new notifier
  OP_NOTIFIER_END = 13,     // a: notifier
  OP_PLACE = 14,            // a: notifier, queue
  OP_WAIT = 15,             // a: notifier
  OP_DURATION = 16,         // a: from, to; answers microseconds, a double
  OP_QUEUE_WAIT = 17,       // a: queue, notifier
  OP_ATTRIBUTE = 18,        // payload: its name; answers the value
  OP_NAME = 19,             // payload of the answer: the board's name
  OP_MEMORY = 20,           // payload of the answer: free and all bytes of GDRAM, u64 each
  OP_WHERE = 21,            // a: address; payload of the answer: what lies there, in words
  OP_KIND = 22,             // a: address; answers the number of the device whose memory it is, -1 for none
  OP_DEVICES = 23,          // answers how many there are
  OP_RESET = 24,            // forgets the memory of the device
  OP_RANGE = 25,            // a: address; payload of the answer: first address and bytes of its allocation, u64 each
  OP_REFUSED = 26,          // a: 1, queue, code of a launch, else 0; payload: a sentence about a call that the library refused by itself
  OP_CNNL = 27,             // payload: a call of cnnl
  OP_END = 28,              // the program ends; payload: of each piece of cnrtHostMalloc that is left the address of its call and its bytes, u64 each
  OP_TOUCHED = 30,          // a: number of a copy, byte: the host uses a byte of its own that the copy may still use
  OP_SYMBOL = 31,           // a: record; payload: the mangled name of a variable at file scope; answers its address
  OP_SHARE = 32,            // a: address; payload: the call; other processes may map its allocation from now on; answers its bytes
  OP_MAP = 33,              // a: the first byte in a file in memory of another process, bytes; payload: the file's path; answers the address
  OP_UNMAP = 34,            // a: address that OP_MAP has answered; answers its bytes
  OP_CONSTANT = 35,         // a: where the host has a __mlu_const__ variable, from the first address of its file on; payload: the file's path; answers its address on the device; payload of the answer: its bytes, u64
  OP_DESCRIBE = 29,         // a: address, 1 where its elements do not follow one another; payload: what its allocation is called from now on
  OP_LINE = 36,             // payload: the line of another language that the next launch comes from; answers 1 where anyone watches
  OP_GIVEN = 37,            // a: as for OP_LAUNCH, the thread; a launch that has no answer: what it has to say comes with the next one
  OP_SETTLED = 38,          // answers when everything that was given before is done
};

struct Request {
  uint32_t op;
  int32_t device;
  uint64_t caller;          // the address from which the program called
  uint64_t a[5];
  uint64_t payload;         // bytes that follow, in this packet and in more; requests without an answer may lie in front of one, whole
};

struct Answer {
  int32_t code;             // as cnrtRet_t
  uint32_t failed;          // bytes that follow: of each thread whose launch without an answer failed, and of the code, u64 each
  uint32_t said;            // bytes of what is to be said on standard error, behind them
  uint32_t printed;         // bytes for standard output, behind those
  uint32_t payload;         // bytes behind those
  uint32_t unused;
  uint64_t value;
};

constexpr uint64_t MOVED = 2;                  // the answer to a copy or a set that the simulator has done
// Another number wherever a request or an answer changes: a program keeps the library that it was linked with, the server is the installed one.
#define MLUSIM_PROTOCOL "2"
constexpr uint64_t PACKET = 65536;             // bytes of the longest packet, and of launches that were given and are not sent yet
constexpr uint64_t MOST_GIVEN = 4096;          // launches without an answer, behind which one is waited for
constexpr uint64_t GDRAM_BASE = 0x1000000000;  // the first address of device 0
