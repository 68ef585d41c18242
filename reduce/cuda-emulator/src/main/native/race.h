/*
 * What the PTX memory model orders, while a seed interleaves threads (the command "interleave"). Every operation and every
 * thread of a kernel knows what has happened before it; each byte knows who wrote and who read it last. Stores become
 * visible to others late and out of order unless fences order them.
 */
#ifndef RACE_H
#define RACE_H

#include "interpret.h"

/* What has happened before: operations that have ended, and clocks of threads. Never changed once it is shared. */
typedef struct Knowledge Knowledge;

/* A thread of a kernel. */
struct Thread {
    Knowledge *known;
    int clock; /* of its own accesses */
    Knowledge *fenced[3]; /* what it released by its last fence, by scope */
    Knowledge *pending[3]; /* what it read, and a fence of that scope will order */
};

/* ---- Threads of kernels that run interleaved ---- */

void begin_threads(Run *run);
void end_threads(Run *run);
/* Reads and writes memory as the thread sees it; part is one element of at most 8 bytes. */
uint64_t interleaved_load(Warp *warp, const Instruction *in, int lane, unsigned char *at);
void interleaved_store(Warp *warp, const Instruction *in, int lane, unsigned char *at, uint64_t value);
/* Returns the value before. */
uint64_t interleaved_update(Warp *warp, const Instruction *in, int lane, unsigned char *at, uint64_t a, uint64_t b);
uint64_t updated(const Instruction *in, uint64_t old, uint64_t a, uint64_t b);
void interleaved_fence(Warp *warp, int lane, Scope scope);
/* Adds what a thread knows to what a barrier gathers, and gives it to those of these threads that wait, when all are there. */
void gather(Gathered *gathered, Warp *warp, int lane);
void leave_barrier(const Gathered *gathered, Warp *warp, int lane);
void forget_gathered(Gathered *gathered);
void forget(Knowledge **knowledge);
/* Lets some stores become visible; one of a kernel whose threads have ended, or returns 0 if none is left. */
void drain_some(void);
int drain_run(const Run *run);

#endif
