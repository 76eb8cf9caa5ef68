// The older name of streams.
#pragma once
#include "framework/core/MLUStream.h"
