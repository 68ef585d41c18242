/*
 * PTX text, decoded for the interpreter. A kernel becomes an array of instructions whose operands are places in the
 * register file of a warp: registers, constants and special registers alike.
 */
#ifndef PTX_H
#define PTX_H

#include "emulator.h"

enum { LANES = 32, MOST_OPERANDS = 5, NAME_BYTES = 128 };

/* Generic addresses of shared memory lie here, where no allocation can be. */
#define SHARED_WINDOW (1ULL << 62)
#define SHARED_WINDOW_BYTES (1ULL << 32)

typedef struct Warp Warp;
typedef struct Instruction Instruction;

typedef enum { GENERIC, GLOBAL, SHARED, PARAMETER } Space;

/* How an access or fence orders others, as in the PTX memory model; volatile is relaxed with the scope of the system. */
typedef enum { WEAK, RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE } Order;

typedef enum { OF_BLOCK, OF_DEVICE, OF_SYSTEM } Scope;

typedef enum { ATOMIC_ADD, ATOMIC_EXCHANGE, ATOMIC_COMPARE, ATOMIC_MIN, ATOMIC_MAX, ATOMIC_AND, ATOMIC_OR, ATOMIC_INCREMENT } Atomic;

/* The elements of what multimem combines. */
typedef enum { INTEGERS, FLOATS, HALVES, BRAINS } Elements;

typedef enum { REDUCE_NOTHING, REDUCE_AND, REDUCE_OR } Reduction;

struct Instruction {
    void (*run)(Warp *warp, const Instruction *instruction);
    int guard; /* a predicate, or -1 */
    int negated; /* whether the guard is */
    int to[4], from[MOST_OPERANDS]; /* bytes into the register file, or numbers of predicates */
    int64_t offset; /* of an address */
    int target; /* of a branch */
    int line; /* of the text */
    Space space;
    Order order;
    Scope scope;
    Atomic atomic;
    Elements elements;
    Reduction reduction; /* of predicates, by a barrier */
    unsigned char bytes, is_signed, vector, register_bytes; /* of a memory access; a register may be wider */
    unsigned char narrow; /* the address has 32 bits */
    unsigned char gives; /* an update has a result */
};

typedef struct {
    const char *name;
    void (*run)(Warp *, const Instruction *);
    const char *operands; /* bytes of the result and, behind a colon, of the operands; p is a predicate */
} Operation;

typedef enum {
    TID_X, TID_Y, TID_Z, NTID_X, NTID_Y, NTID_Z, CTAID_X, CTAID_Y, CTAID_Z, NCTAID_X, NCTAID_Y, NCTAID_Z, LANE_ID, WARP_ID,
    SM_ID, SM_NUMBER, CLOCK, CLOCK64, GLOBAL_TIMER
} Special;

/* What a place of the register file holds when a warp begins. */
typedef struct {
    int place, bytes;
    int special; /* or -1 for a constant */
    uint64_t value;
} Preset;

typedef struct {
    char name[NAME_BYTES];
    int offset, bytes;
} Parameter;

typedef struct Kernel {
    char name[NAME_BYTES];
    Instruction *code;
    int count;
    Parameter *parameters;
    int parameter_count, parameter_bytes;
    Preset *presets;
    int preset_count;
    int register_bytes, predicates; /* of a warp */
    int shared_bytes; /* of a block, without what the launch adds */
    unsigned most_threads; /* of a block */
    int64_t runs; /* that have ended, since the last reset; guarded by the lock */
} Kernel;

typedef struct Program {
    char *text;
    int target; /* as 70 */
    int version; /* as 70 for 7.0 */
    Kernel *kernels;
    int count;
    struct Program *next;
} Program;

/* ---- ptx.c ---- */

/* Decodes a module; what was decoded before is kept. The caller holds the lock. Notes a problem where it is not OK. */
CUresult read_program(const char *text, const Program **program);
/* How many kernels have ended whose names begin so, and begins to count anew. The caller holds the lock. */
int64_t count_kernels(const char *prefix);
void forget_kernels(void);

/* ---- operations.c: results that depend on operands alone ---- */

const Operation *operation_named(const char *name);
/* The operation that converts, with the rounding such as "rn", which is empty where there is none; or NULL. */
void (*conversion(const char *rounding, const char *to, const char *from))(Warp *, const Instruction *);
void copy_2(Warp *, const Instruction *);
void copy_4(Warp *, const Instruction *);
void copy_8(Warp *, const Instruction *);
void copy_predicate(Warp *, const Instruction *);
/* Between floats of 16 and of 32 bits. */
float wide_half(uint16_t value, Elements elements);
uint16_t rounded_half(float value, Elements elements);
/* Between one wide register and two or four narrow ones. */
void pack(Warp *, const Instruction *);
void unpack(Warp *, const Instruction *);

/* ---- interpret.c: what depends on threads, blocks and memory ---- */

void load(Warp *, const Instruction *);
void store(Warp *, const Instruction *);
void load_parameter(Warp *, const Instruction *);
/* The same by an address in a register, which mov takes of a parameter. */
void load_parameter_at(Warp *, const Instruction *);
void update(Warp *, const Instruction *);
/* By a multicast address, of all its devices. */
void load_all(Warp *, const Instruction *);
void store_all(Warp *, const Instruction *);
void fence_proxy(Warp *, const Instruction *);
void to_shared(Warp *, const Instruction *);
void from_shared(Warp *, const Instruction *);
void branch(Warp *, const Instruction *);
void end_thread(Warp *, const Instruction *);
void trap(Warp *, const Instruction *);
void barrier(Warp *, const Instruction *);
void barrier_arrive(Warp *, const Instruction *);
void barrier_reduce(Warp *, const Instruction *);
void warp_barrier(Warp *, const Instruction *);
void fence(Warp *, const Instruction *);
void nap(Warp *, const Instruction *);
void read_clock(Warp *, const Instruction *);

typedef struct Run Run;
typedef struct Block Block;

/* 32 threads of a block, which take the same instruction together where they can. */
struct Warp {
    unsigned char *registers;
    uint32_t *predicates;
    uint32_t carry; /* of each lane */
    uint32_t mask; /* lanes that take the instruction */
    uint32_t group; /* lanes at the same instruction; the mask is those whose guard holds */
    uint32_t alive, waiting; /* lanes that have not ended, that wait at a barrier */
    uint32_t aliased, unaliased; /* lanes with a fence of aliases, with accesses by multicast addresses since it */
    int next; /* instruction of the group */
    int place[LANES]; /* instruction of the lanes that are not in the group */
    unsigned char barrier[LANES]; /* at which a lane waits */
    int regroup; /* the group has split, or lanes of it wait or have ended */
    int yields; /* the group waits for others */
    int index; /* in its block */
    int begun; /* its registers have their first values */
    int turns; /* of loops since another group had its turn */
    int polls; /* accesses that may wait for other threads, since its turn ended */
    Block *block;
    Run *run;
};

#endif
