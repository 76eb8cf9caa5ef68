// Host memory that an asynchronous copy may still read or write: if a command observes the program, its pages are protected until a wait.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace mlusim {

// Protect *bytes* at *low* for the simulator's copy *id*, which writes them (*written*), or reads them.
void guard(uint64_t id, const void *low, size_t bytes, bool written);
void settle(const std::string &pending);          // restore all except the copies whose ids are in *pending*
void unguard(const void *low, size_t bytes);      // restore the pages that the library itself is about to use
void forget_guards();                             // in a child, which has no guards
bool touches_guard(void *address, void *context); // returns whether a signal came from protected pages, which are then restored
// Find the pages used only by a piece of cnrtHostMalloc; false if *low* is not in such memory.
bool pinned_pages(const void *low, char *&first, char *&last);
std::string pinned_left();                        // for each piece not freed: address of the call, bytes

}  // namespace mlusim
#pragma GCC visibility pop
