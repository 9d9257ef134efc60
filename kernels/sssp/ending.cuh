// How a query of a resident grid ended: these values or'ed together, 0 where it has its answer. The host reads them
// from here (ending.py).
#pragma once

enum { TOO_LONG = 1, FULL = 2, TIMED_OUT = 4 };
