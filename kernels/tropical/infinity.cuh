// The integers that stand for infinity: two of them add up without wrapping. semiring.py has the same.

#pragma once

constexpr int INFINITE_INT32 = 0x3FFFFFFF, INFINITE_UINT16 = 0x7FFF;
