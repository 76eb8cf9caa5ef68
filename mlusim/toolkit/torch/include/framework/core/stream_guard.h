// Guards of streams stand beside those of devices.
#pragma once
#include "framework/core/mlu_guard.h"
