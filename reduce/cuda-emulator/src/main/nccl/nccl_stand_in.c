/*
 * A stand-in for libnccl.so.2, for tests. It moves and reduces real bytes by the CUDA driver that the process has
 * loaded: each rank's input is copied to the host in the rank's stream, a host function reduces, and the result is
 * copied back. Ranks wait for each other by events, as NCCL's kernels do. Names, codes and layouts are those of NCCL
 * 2.21. One process holds all ranks of a communicator.
 *
 * banyan_nccl_tell(COMMAND) steers it; numbers are decimal:
 *
 *   reset               forgets all that was told
 *   version CODE        what ncclGetVersion answers
 *   refuse FUNCTION CODE  the next call of a function fails
 *   async RANK CODE     the next collective never ends, and ncclCommGetAsyncError of the rank answers the code then
 *   hang                the next collective never ends
 *
 * A collective that never ends waits until ncclCommAbort is called for all its ranks. banyan_nccl_count(WHAT) counts
 * "collectives", "inits", "aborts" and "destroys".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { SUCCESS = 0, CUDA_ERROR = 1, INTERNAL_ERROR = 3, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, MOST_RANKS = 32 };
enum { I8 = 0, U8 = 1, I32 = 2, U32 = 3, I64 = 4, U64 = 5, F16 = 6, F32 = 7, F64 = 8, BF16 = 9, TYPES = 10 };
enum { SUM = 0, PROD = 1, MAX = 2, MIN = 3, AVG = 4, OPS = 5 };
typedef enum { ALL_REDUCE, REDUCE, BROADCAST, REDUCE_SCATTER, ALL_GATHER } Kind;

static const size_t WIDTH[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

/* ---- The driver ---- */

typedef uint64_t Address;
typedef void *Handle;

static struct {
    int (*device_get)(int *, int);
    int (*retain)(Handle *, int);
    int (*release)(int);
    int (*set_current)(Handle);
    int (*get_current)(Handle *);
    int (*to_host)(void *, Address, size_t, Handle);
    int (*to_device)(Address, const void *, size_t, Handle);
    int (*host_alloc)(void **, size_t);
    int (*host_free)(void *);
    int (*launch)(Handle, void (*)(void *), void *);
    int (*event_create)(Handle *, unsigned);
    int (*event_record)(Handle, Handle);
    int (*wait_event)(Handle, Handle, unsigned);
} cuda;

static void *driver_function(void *driver, const char *name) {
    void *found = dlsym(driver, name);
    if (!found) {
        fprintf(stderr, "stand-in for NCCL: the driver has no %s\n", name);
        abort();
    }
    return found;
}

static int load_driver(void) {
    if (cuda.launch) return 1;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) return 0;
    cuda.device_get = driver_function(driver, "cuDeviceGet");
    cuda.retain = driver_function(driver, "cuDevicePrimaryCtxRetain");
    cuda.release = driver_function(driver, "cuDevicePrimaryCtxRelease_v2");
    cuda.set_current = driver_function(driver, "cuCtxSetCurrent");
    cuda.get_current = driver_function(driver, "cuCtxGetCurrent");
    cuda.to_host = driver_function(driver, "cuMemcpyDtoHAsync_v2");
    cuda.to_device = driver_function(driver, "cuMemcpyHtoDAsync_v2");
    cuda.host_alloc = driver_function(driver, "cuMemAllocHost_v2");
    cuda.host_free = driver_function(driver, "cuMemFreeHost");
    cuda.event_create = driver_function(driver, "cuEventCreate");
    cuda.event_record = driver_function(driver, "cuEventRecord");
    cuda.wait_event = driver_function(driver, "cuStreamWaitEvent");
    cuda.launch = driver_function(driver, "cuLaunchHostFunc");
    return 1;
}

/* ---- Communicators ---- */

typedef struct Clique Clique;

typedef struct {
    Kind kind;
    Address in, out;
    size_t count;
    int type, op, root;
    Handle stream;
} Operation;

typedef struct {
    Clique *clique;
    int rank, device, async_error, alive;
    Handle context;
    Operation pending; /* of the group that is open */
    int is_pending;
} Comm;

/* A collective: what its host function needs. Kept until the last communicator is destroyed. */
typedef struct Job {
    Clique *clique;
    Operation of[MOST_RANKS];
    unsigned char *inputs[MOST_RANKS], *outputs[MOST_RANKS];
    int hangs;
    struct Job *next;
} Job;

struct Clique {
    int ranks, alive, aborted;
    Comm comms[MOST_RANKS];
    Job *jobs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static struct {
    int version, refused_code, hang, async_rank, async_code;
    char refused[64];
    long collectives, inits, aborts, destroys;
} told = {.version = 22105, .async_rank = -1};

static int group_depth;
static Clique *grouped; /* the clique whose operations the open group has */

static int refuses(const char *function) {
    if (strcmp(told.refused, function) != 0) return 0;
    told.refused[0] = 0;
    return told.refused_code;
}

API int banyan_nccl_tell(const char *line) {
    int code, rank;
    char name[64];
    if (strcmp(line, "reset") == 0) {
        memset(&told, 0, sizeof told);
        told.version = 22105;
        told.async_rank = -1;
    } else if (sscanf(line, "version %d", &code) == 1) {
        told.version = code;
    } else if (sscanf(line, "refuse %63s %d", name, &code) == 2) {
        strcpy(told.refused, name);
        told.refused_code = code;
    } else if (sscanf(line, "async %d %d", &rank, &code) == 2) {
        told.async_rank = rank;
        told.async_code = code;
        told.hang = 1;
    } else if (strcmp(line, "hang") == 0) {
        told.hang = 1;
    } else {
        return 1;
    }
    return 0;
}

API long banyan_nccl_count(const char *what) {
    return strcmp(what, "collectives") == 0 ? told.collectives
        : strcmp(what, "inits") == 0 ? told.inits
        : strcmp(what, "aborts") == 0 ? told.aborts
        : strcmp(what, "destroys") == 0 ? told.destroys : -1;
}

/* ---- Arithmetic ---- */

static float of_half(uint16_t bits) {
    uint32_t sign = (uint32_t) (bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    union { uint32_t bits; float value; } word;
    if (exponent == 0) {
        float value = mantissa / 16777216.0f;
        return sign ? -value : value;
    }
    word.bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13;
    return word.value;
}

/* Rounds to nearest, ties to even. */
static uint16_t to_half(float value) {
    union { float value; uint32_t bits; } word = {value};
    uint16_t sign = word.bits >> 16 & 0x8000;
    uint32_t magnitude = word.bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00;
    if (magnitude >= 0x47800000) return sign | 0x7c00;
    if (magnitude < 0x38800000) {
        /* A subnormal number: adding one half leaves the rounded mantissa in the low bits. */
        word.bits = magnitude;
        word.value += 0.5f;
        return sign | (uint16_t) (word.bits - 0x3f000000);
    }
    magnitude += 0xc8000fff + (magnitude >> 13 & 1);
    return sign | (uint16_t) (magnitude >> 13);
}

static float of_brain(uint16_t bits) {
    union { uint32_t bits; float value; } word = {(uint32_t) bits << 16};
    return word.value;
}

static uint16_t to_brain(float value) {
    union { float value; uint32_t bits; } word = {value};
    if ((word.bits & 0x7fffffff) > 0x7f800000) return word.bits >> 16 | 0x40;
    return (word.bits + 0x7fff + (word.bits >> 16 & 1)) >> 16;
}

#define COMBINE(a, b, op) ((op) == PROD ? (a) * (b) : (op) == MAX ? ((a) > (b) ? (a) : (b)) \
    : (op) == MIN ? ((a) < (b) ? (a) : (b)) : (a) + (b))

#define REDUCE_AS(name, T, W, LOAD, STORE) \
    static void name(unsigned char *const *in, int n, size_t first, unsigned char *out, size_t count, int op) { \
        for (size_t i = 0; i < count; i++) { \
            W sum = LOAD(((const T *) in[0])[first + i]); \
            for (int r = 1; r < n; r++) { \
                W next = LOAD(((const T *) in[r])[first + i]); \
                sum = COMBINE(sum, next, op); \
            } \
            ((T *) out)[i] = STORE(op == AVG ? sum / (W) n : sum); \
        } \
    }

REDUCE_AS(reduce_i8, int8_t, int32_t, , (int8_t))
REDUCE_AS(reduce_u8, uint8_t, uint32_t, , (uint8_t))
REDUCE_AS(reduce_u32, uint32_t, uint32_t, , )
REDUCE_AS(reduce_u64, uint64_t, uint64_t, , )
REDUCE_AS(reduce_f16, uint16_t, float, of_half, to_half)
REDUCE_AS(reduce_bf16, uint16_t, float, of_brain, to_brain)
REDUCE_AS(reduce_f32, float, float, , )
REDUCE_AS(reduce_f64, double, double, , )

/* Sums and products wrap around as those of numbers without a sign; comparisons and quotients have one. */
#define SIGNED(name, T, U, wrapping) \
    static void name(unsigned char *const *in, int n, size_t first, unsigned char *out, size_t count, int op) { \
        if (op == SUM || op == PROD) { \
            wrapping(in, n, first, out, count, op); \
            return; \
        } \
        for (size_t i = 0; i < count; i++) { \
            T value = ((const T *) in[0])[first + i]; \
            for (int r = 1; r < n; r++) { \
                T next = ((const T *) in[r])[first + i]; \
                value = op == AVG ? (T) ((U) value + (U) next) : COMBINE(value, next, op); \
            } \
            ((T *) out)[i] = op == AVG ? value / n : value; \
        } \
    }

SIGNED(reduce_i32, int32_t, uint32_t, reduce_u32)
SIGNED(reduce_i64, int64_t, uint64_t, reduce_u64)

typedef void (*Reduction)(unsigned char *const *, int, size_t, unsigned char *, size_t, int);
static const Reduction REDUCTIONS[TYPES] = {reduce_i8, reduce_u8, reduce_i32, reduce_u32, reduce_i64, reduce_u64,
    reduce_f16, reduce_f32, reduce_f64, reduce_bf16};

/* ---- Collectives ---- */

static size_t input_count(const Operation *of, int ranks) {
    return of->kind == REDUCE_SCATTER ? of->count * ranks : of->count;
}

static size_t output_count(const Operation *of, int ranks) {
    return of->kind == ALL_GATHER ? of->count * ranks : of->count;
}

static int has_input(const Operation *of, int rank) { return of->kind != BROADCAST || rank == of->root; }
static int has_output(const Operation *of, int rank) { return of->kind != REDUCE || rank == of->root; }

/* Runs on a thread of the driver. */
static void carry_out(void *data) {
    Job *job = data;
    Clique *clique = job->clique;
    int n = clique->ranks;
    pthread_mutex_lock(&clique->lock);
    while (job->hangs && !clique->aborted) pthread_cond_wait(&clique->changed, &clique->lock);
    int aborted = clique->aborted;
    pthread_mutex_unlock(&clique->lock);
    if (aborted) return;
    for (int rank = 0; rank < n; rank++) {
        const Operation *of = &job->of[rank];
        size_t bytes = of->count * WIDTH[of->type];
        if (!has_output(of, rank)) continue;
        switch (of->kind) {
            case BROADCAST:
                memcpy(job->outputs[rank], job->inputs[of->root], bytes);
                break;
            case ALL_GATHER:
                for (int from = 0; from < n; from++) memcpy(job->outputs[rank] + from * bytes, job->inputs[from], bytes);
                break;
            default:
                REDUCTIONS[of->type](job->inputs, n, of->kind == REDUCE_SCATTER ? rank * of->count : 0,
                    job->outputs[rank], of->count, of->op);
        }
    }
}

static int staging(unsigned char **pointer, size_t bytes) {
    void *memory = NULL;
    int result = cuda.host_alloc(&memory, bytes ? bytes : 1);
    *pointer = memory;
    return result;
}

#define TRY(call) do { int result_ = (call); if (result_) { \
    fprintf(stderr, "stand-in for NCCL: " #call " gives %d\n", result_); return CUDA_ERROR; } } while (0)

static int enqueue(Clique *clique) {
    int n = clique->ranks;
    Job *job = calloc(1, sizeof *job);
    job->clique = clique;
    job->next = clique->jobs;
    clique->jobs = job;
    for (int rank = 0; rank < n; rank++) {
        Comm *comm = &clique->comms[rank];
        const Operation *of = &comm->pending, *first = &clique->comms[0].pending;
        if (!comm->is_pending || of->kind != first->kind || of->count != first->count || of->type != first->type
            || of->op != first->op || of->root != first->root) {
            return INVALID_USAGE;
        }
        job->of[rank] = *of;
        comm->is_pending = 0;
    }
    job->hangs = told.hang;
    if (told.async_rank >= 0) clique->comms[told.async_rank].async_error = told.async_code;
    told.hang = 0;
    told.async_rank = -1;
    told.collectives++;
    Handle ready[MOST_RANKS], done;
    for (int rank = 0; rank < n; rank++) {
        const Operation *of = &job->of[rank];
        TRY(cuda.set_current(clique->comms[rank].context));
        TRY(cuda.event_create(&ready[rank], 2));
        if (has_input(of, rank)) {
            size_t bytes = input_count(of, n) * WIDTH[of->type];
            TRY(staging(&job->inputs[rank], bytes));
            if (bytes) TRY(cuda.to_host(job->inputs[rank], of->in, bytes, of->stream));
        }
        if (has_output(of, rank)) TRY(staging(&job->outputs[rank], output_count(of, n) * WIDTH[of->type]));
        TRY(cuda.event_record(ready[rank], of->stream));
    }
    Handle lead = job->of[0].stream;
    TRY(cuda.set_current(clique->comms[0].context));
    for (int rank = 1; rank < n; rank++) TRY(cuda.wait_event(lead, ready[rank], 0));
    TRY(cuda.launch(lead, carry_out, job));
    TRY(cuda.event_create(&done, 2));
    TRY(cuda.event_record(done, lead));
    for (int rank = 0; rank < n; rank++) {
        const Operation *of = &job->of[rank];
        TRY(cuda.set_current(clique->comms[rank].context));
        if (rank > 0) TRY(cuda.wait_event(of->stream, done, 0));
        size_t bytes = output_count(of, n) * WIDTH[of->type];
        if (has_output(of, rank) && bytes) TRY(cuda.to_device(of->out, job->outputs[rank], bytes, of->stream));
    }
    return SUCCESS;
}

static int add(Comm *comm, Operation of, const char *function) {
    int refused = refuses(function);
    if (refused) return refused;
    if (!comm || !comm->alive) return INVALID_ARGUMENT;
    int n = comm->clique->ranks;
    if (of.type < 0 || of.type >= TYPES || of.op < 0 || of.op >= OPS || of.root < 0 || of.root >= n) {
        return INVALID_ARGUMENT;
    }
    if (group_depth == 0 && n > 1) return INVALID_USAGE; /* one thread holds all ranks */
    if (grouped && grouped != comm->clique) return INVALID_USAGE;
    if (comm->is_pending) return INVALID_USAGE;
    comm->pending = of;
    comm->is_pending = 1;
    grouped = comm->clique;
    return SUCCESS;
}

API int ncclAllReduce(Address in, Address out, size_t count, int type, int op, Comm *comm, Handle stream) {
    return add(comm, (Operation) {ALL_REDUCE, in, out, count, type, op, 0, stream}, "ncclAllReduce");
}

API int ncclReduce(Address in, Address out, size_t count, int type, int op, int root, Comm *comm, Handle stream) {
    return add(comm, (Operation) {REDUCE, in, out, count, type, op, root, stream}, "ncclReduce");
}

API int ncclBroadcast(Address in, Address out, size_t count, int type, int root, Comm *comm, Handle stream) {
    return add(comm, (Operation) {BROADCAST, in, out, count, type, SUM, root, stream}, "ncclBroadcast");
}

API int ncclReduceScatter(Address in, Address out, size_t count, int type, int op, Comm *comm, Handle stream) {
    return add(comm, (Operation) {REDUCE_SCATTER, in, out, count, type, op, 0, stream}, "ncclReduceScatter");
}

API int ncclAllGather(Address in, Address out, size_t count, int type, Comm *comm, Handle stream) {
    return add(comm, (Operation) {ALL_GATHER, in, out, count, type, SUM, 0, stream}, "ncclAllGather");
}

API int ncclGroupStart(void) {
    group_depth++;
    return refuses("ncclGroupStart");
}

/* The calls that a failed group has gathered are dropped. */
API int ncclGroupEnd(void) {
    if (group_depth == 0) return INVALID_USAGE;
    if (--group_depth > 0) return SUCCESS;
    Clique *clique = grouped;
    grouped = NULL;
    int result = refuses("ncclGroupEnd");
    if (clique) {
        Handle before = NULL;
        cuda.get_current(&before);
        int complete = 1;
        for (int rank = 0; rank < clique->ranks; rank++) complete &= clique->comms[rank].is_pending;
        if (result == SUCCESS && complete) result = enqueue(clique);
        for (int rank = 0; rank < clique->ranks; rank++) clique->comms[rank].is_pending = 0;
        cuda.set_current(before);
    }
    return result;
}

API int ncclGetVersion(int *version) {
    *version = told.version;
    return refuses("ncclGetVersion");
}

API const char *ncclGetErrorString(int code) {
    static const char *const NAMES[] = {"no error", "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage", "remote process exited or there was a network error", "in progress"};
    return code >= 0 && code < 8 ? NAMES[code] : "unknown result code";
}

API const char *ncclGetLastError(Comm *comm) {
    return comm && comm->alive && comm->async_error ? "as the test has told" : "";
}

API int ncclCommInitAll(Comm **comms, int ranks, const int *devices) {
    int refused = refuses("ncclCommInitAll");
    if (refused) return refused;
    if (ranks < 1 || ranks > MOST_RANKS) return INVALID_ARGUMENT;
    if (!load_driver()) return CUDA_ERROR;
    Clique *clique = calloc(1, sizeof *clique);
    clique->ranks = clique->alive = ranks;
    pthread_mutex_init(&clique->lock, NULL);
    pthread_cond_init(&clique->changed, NULL);
    for (int rank = 0; rank < ranks; rank++) {
        for (int other = 0; other < rank; other++) {
            if (devices[other] == devices[rank]) return INVALID_USAGE;
        }
        int device;
        Comm *comm = &clique->comms[rank];
        *comm = (Comm) {.clique = clique, .rank = rank, .device = devices[rank], .alive = 1};
        if (cuda.device_get(&device, devices[rank]) || cuda.retain(&comm->context, device)) return CUDA_ERROR;
        comms[rank] = comm;
    }
    told.inits++;
    return SUCCESS;
}

API int ncclCommGetAsyncError(Comm *comm, int *code) {
    int refused = refuses("ncclCommGetAsyncError");
    if (refused) return refused;
    if (!comm || !comm->alive) return INVALID_ARGUMENT;
    *code = comm->async_error;
    return SUCCESS;
}

static int leave(Comm *comm, int aborts) {
    if (!comm || !comm->alive) return INVALID_ARGUMENT;
    Clique *clique = comm->clique;
    comm->alive = 0;
    cuda.release(comm->device);
    if (--clique->alive > 0) return SUCCESS;
    pthread_mutex_lock(&clique->lock);
    clique->aborted = aborts;
    pthread_cond_broadcast(&clique->changed);
    pthread_mutex_unlock(&clique->lock);
    if (aborts) return SUCCESS; /* the jobs stay: what was aborted may still look at them */
    for (Job *job = clique->jobs, *next; job; job = next) {
        next = job->next;
        for (int rank = 0; rank < clique->ranks; rank++) {
            if (job->inputs[rank]) cuda.host_free(job->inputs[rank]);
            if (job->outputs[rank]) cuda.host_free(job->outputs[rank]);
        }
        free(job);
    }
    clique->jobs = NULL; /* the communicators stay, so that their use after this is seen */
    return SUCCESS;
}

API int ncclCommAbort(Comm *comm) {
    told.aborts++;
    return leave(comm, 1);
}

API int ncclCommDestroy(Comm *comm) {
    told.destroys++;
    int refused = refuses("ncclCommDestroy");
    return refused ? refused : leave(comm, 0);
}
