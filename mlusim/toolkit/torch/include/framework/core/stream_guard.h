// Guards of streams are declared with those of devices.
#pragma once
#include "framework/core/mlu_guard.h"
