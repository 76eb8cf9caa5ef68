// Symbols by which the linker finds device functions in other files; cncc determines which.
#pragma once
__mlusim_links__
