// Symbols by which the linker finds functions of the device in other files; cncc says which.
#pragma once
__mlusim_links__
