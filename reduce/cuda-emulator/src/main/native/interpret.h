/* Kernels that run: their blocks, and what a memory access of theirs meets. */
#ifndef INTERPRET_H
#define INTERPRET_H

#include "ptx.h"

enum { BARRIERS = 16, WARPS_OF_BLOCK = 32 };

/* What the threads know that have arrived at a barrier, and what one of them knew that was added last. */
typedef struct {
    struct Knowledge *all, *last;
} Gathered;

/* Threads that have arrived at a barrier; expected is 0 for all that are alive. */
typedef struct {
    int arrived, expected;
    Reduction reduces; /* what bar.red, which all threads take, makes of their predicates */
    int holding; /* threads whose predicate holds */
    Gathered gathered; /* while a seed interleaves what runs */
} Barrier;

typedef struct Thread Thread;

struct Block {
    Run *run;
    unsigned at[3]; /* in the grid */
    int place; /* in the grid, counted along x first */
    int multiprocessor;
    int threads, alive;
    unsigned char *shared;
    Barrier barriers[BARRIERS];
    Warp warps[WARPS_OF_BLOCK];
    int warp_count;
    Shadows *shadows; /* of shared memory */
    Block *next;
};

/* A kernel that has begun. One thread of the emulator at a time goes on with it. */
struct Run {
    const Launch *launch;
    const Kernel *kernel;
    const Context *context;
    int64_t blocks, started;
    int shared_bytes; /* of a block */
    Room room; /* that a block takes while it runs */
    Block *active, *spare;
    Window *windows; /* allocations that it has touched */
    int window_count;
    unsigned short *hints; /* window that each instruction found last */
    CUresult error;
    /* While a seed interleaves what runs: */
    int op, first_slot, thread_count;
    struct Thread *threads;
    struct Knowledge *known;
    int is_held_up, is_released; /* at an access over a way that stalls; by a test */
    int corrupts; /* the next store, as a load took bytes over a way that corrupts them */
    int yields; /* threads of it wait for others */
    int wrote; /* in this turn, or began a block */
    int is_stuck; /* noted already */
    int *placed, placed_count; /* multiprocessors of the next blocks */
    int is_crowded; /* there is no room for all blocks */
    Run *next; /* of those to be freed */
};

#endif
