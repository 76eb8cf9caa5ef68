// Memory of the host that an asynchronous copy may still read or write: where someone watches, pages of it are taken away until a wait.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace mlusim {

// Watch *bytes* at *low* for the simulator's copy *id*, which writes them (*written*), or reads them.
void guard(uint64_t id, const void *low, size_t bytes, bool written);
void settle(const std::string &pending);          // give back all but the copies whose ids are in *pending*
void unguard(const void *low, size_t bytes);      // give back what the library itself is about to use
void forget_guards();                             // in a child: all is its own
bool touches_guard(void *address, void *context); // whether a signal came from guarded pages, which are given back then
// The pages that memory of cnrtHostMalloc has for itself; false where *low* is not in such memory.
bool pinned_pages(const void *low, char *&first, char *&last);
std::string pinned_left();                        // for each piece that is left: address of the call, bytes

}  // namespace mlusim
#pragma GCC visibility pop
