/* Everything that JCuda's driver library needs; what another file has takes the place of what is here. */
#include "emulator.h"

#define SYMBOL(name) \
    API __attribute__((weak)) CUresult name(void); \
    CUresult name(void) { \
        ENTER(); \
        counters.unsupported++; \
        problem("the emulator has no " #name); \
        LEAVE(NOT_SUPPORTED); \
    }

#include "symbols.inc"
