/*
 * A stand-in for libcuda.so.1, for tests: n devices over host memory, behind CUDA's driver API.
 *
 * How the files go together: machine.c has the machine's description, the commands by which tests steer it, handles, and
 * what every call begins and ends with; engine.c carries work out on threads; the others are one part of the API each.
 * stubs.c has the rest of the API, which answers CUDA_ERROR_NOT_SUPPORTED. README.md says what tests can do with it.
 *
 * One lock guards everything; ENTER takes it and LEAVE gives it back. Work (copies, kernels, host functions) is carried
 * out without it.
 */
#ifndef EMULATOR_H
#define EMULATOR_H

#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define API __attribute__((visibility("default")))

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef uintptr_t Handle;
typedef void (*HostFunction)(void *);

enum {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, DEVICE_UNAVAILABLE = 46, NO_DEVICE = 100,
    INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209,
    PEER_ACCESS_UNSUPPORTED = 217, INVALID_PTX = 218, UNSUPPORTED_PTX_VERSION = 222, INVALID_HANDLE = 400,
    NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701,
    LAUNCH_TIMEOUT = 702, PEER_ACCESS_ALREADY_ENABLED = 704,
    PEER_ACCESS_NOT_ENABLED = 705, PRIMARY_CONTEXT_ACTIVE = 708, CONTEXT_IS_DESTROYED = 709, TOO_MANY_PEERS = 711,
    HOST_MEMORY_ALREADY_REGISTERED = 712, HOST_MEMORY_NOT_REGISTERED = 713, MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, SYSTEM_NOT_READY = 802, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901,
    CAPTURE_MERGE = 902, CAPTURE_UNMATCHED = 903, CAPTURE_UNJOINED = 904, CAPTURE_ISOLATION = 905,
    CAPTURE_IMPLICIT = 906, CAPTURED_EVENT = 907, CAPTURE_WRONG_THREAD = 908, UNKNOWN = 999
};

enum { MOST_DEVICES = 32, MOST_MULTIPROCESSORS = 160, PARAMETER_BYTES = 4096 };

/* ---- Objects behind handles ---- */

typedef enum { CONTEXT = 1, STREAM, EVENT, MODULE, FUNCTION, GRAPH, NODE, EXEC, POOL, BACKING, MULTICAST } Kind;

typedef struct {
    Kind kind;
    Handle handle;
} Object;

typedef struct Op Op;
typedef struct Stream Stream;
typedef struct Exec Exec;
typedef struct Graph Graph;
typedef struct Node Node;
typedef struct Capture Capture;

/* What a multiprocessor has, or what blocks take of it. Registers are counted with those that no warp can use. */
typedef struct {
    int blocks, warps, registers, shared;
} Room;

typedef struct {
    char name[96], bus_id[32];
    int major, minor, multiprocessors;
    uint64_t bytes, used;
    Room taken[MOST_MULTIPROCESSORS]; /* by blocks that run */
    const struct Run *first_in_line; /* the kernel whose blocks have the next places, or NULL */
    int lost; /* the code that everything on it gives, or 0 */
    int broken; /* the same since an operation failed on it: no other context repairs that, as only another process would */
    int rank[MOST_DEVICES]; /* performance rank of the way to each peer; -1 where there is no peer access */
    int corrupt[MOST_DEVICES], stall[MOST_DEVICES];
    struct Context *primary;
    int retained;
    unsigned primary_flags;
} Device;

typedef struct Context {
    Object object;
    Device *device;
    int index; /* of the device */
    unsigned flags;
    int sticky; /* the code of what went wrong on it, which every later call gives */
    int destroyed;
    int pending; /* operations that are not done */
    int held; /* calls that let no work be submitted until what is pending has ended */
    int held_launches; /* that wait for these */
    Stream *streams; /* a list; the default stream is not in it */
    Stream *standard; /* the default stream */
    struct Context *peers[MOST_DEVICES];
    int peer_count;
    struct Context *next; /* of all contexts that were ever made since the last reset */
} Context;

struct Stream {
    Object object;
    Context *context;
    unsigned flags;
    int priority;
    uint64_t id;
    Op *last;
    Stream *next;
    /* Where it is capturing: */
    Capture *capture;
    Node **tail;
    int tails;
};

typedef struct {
    Object object;
    Context *context;
    unsigned flags;
    Op *op; /* of its last record; NULL before the first */
    Capture *capture; /* where the last record was captured */
    Node **nodes;
    int count;
} Event;

/* ---- Work ---- */

typedef enum { MARK, COPY, FILL, KERNEL, HOST, LAUNCH, RECORD, WAIT, CHILD } OpKind;

typedef struct {
    CUdeviceptr target, source;
    uint64_t bytes, target_pitch, source_pitch, rows;
    void *snapshot; /* of pageable memory; freed with the operation */
    int source_known, target_known; /* else pageable memory */
    int staged; /* between devices without peer access */
    int late; /* the call has returned, and the copy begins when something waits for it */
} Copy;

typedef struct {
    CUdeviceptr target;
    uint64_t pitch, width, rows; /* width in elements */
    unsigned value, element_bytes;
} Fill;

typedef struct {
    const struct Kernel *kernel;
    unsigned grid[3], block[3], shared_bytes; /* shared_bytes are those that the launch adds */
    size_t parameter_bytes;
    unsigned char parameters[PARAMETER_BYTES];
} Launch;

typedef void (*StreamCallback)(Handle stream, CUresult status, void *data);

/* A function of the caller's, a callback of the caller's, which is called after errors too, or one of the emulator's own. */
typedef struct {
    HostFunction function, own;
    StreamCallback callback;
    Handle stream;
    void *data;
} Host;

typedef struct {
    OpKind kind;
    Context *context;
    union {
        Copy copy;
        Fill fill;
        Launch launch;
        Host host;
        Exec *exec;
        Event *event;
        Graph *child;
    };
} Work;

typedef enum { HEALTHY, FAIL, HANG, LOSE } Fate;

struct Op {
    Work work;
    int waits; /* for how many others */
    int done, error, refs;
    int inherited; /* the error of what it waited for, so that it must not start */
    double began, ended; /* us */
    double clock_begin, clock_end; /* by the clock, us */
    Op **next; /* who waits for it */
    int nexts, room;
    Fate fate;
    int fate_code, fate_device;
    Exec *exec; /* of which it is a node, or NULL */
    int node;
    int waited; /* a node that waits for an event has done so */
    struct Run *run; /* of a kernel that has begun */
    int is_begun; /* a kernel that has had a turn */
    int only_polls; /* it wrote nothing in its last turn */
    int is_crowded; /* its next block found no room in its last turn */
    int quiet_turns; /* turns one after the other in which it only polled, since the change of that number */
    uint64_t quiet_since;
    int id; /* while a seed interleaves what runs */
    unsigned session; /* of the command that its id and knowledge belong to */
    struct Knowledge *known; /* what has happened before it */
    uint64_t progress; /* bytes of a copy that are done */
    Op *queue; /* the next one of a list */
};

/* ---- machine.c ---- */

typedef struct {
    pthread_mutex_t lock;
    int initialized, driver_version, strict, free_waits, workers, devices;
    int no_descriptors; /* of mapped memory, for other processes */
    int multicast; /* 0 without, 1 with switches that reduce, 2 if their fabric manager does not run */
    int enables_wait; /* cuCtxEnablePeerAccess waits for the work of both contexts */
    int patience; /* in seconds, after which a call that waits gives up; 0 for none */
    double timer_ahead; /* us by which the clocks of kernels are ahead */
    int pageable_late; /* copies from pageable memory are under way when their calls return */
    int failed_work_errors; /* what waits for failed work ends with its error; else it stays where it is */
    uint64_t calls, shuffle;
    int switched; /* NVSwitches connect the devices */
    /* What things take by the clock in us; all 0 while it is off. */
    struct {
        double launch, node, edge, copy, per_byte;
    } cost;
    /* Where the clock began to count, where the calling threads are, and the latest end of an operation. */
    double first_clock, host_clock, clock;
    int paused;
    int lost_edge; /* number of the edge that the next graph leaves out, or 0 */
    int lost_flag; /* number of the next strong store of 64 bits for all devices that gets lost, or 0 */
    int interleave; /* a seed chooses who goes on at every memory access */
    unsigned session; /* counts the commands that began to interleave, or ended it */
    int launches_skipped; /* graphs end at once and do nothing */
    int uuids; /* devices have UUIDs, the same ones in each process */
    int coupled; /* allocating, freeing and loading wait for all work of contexts that peer access joins */
    int launches_block; /* cuLaunchKernel returns when the kernel has ended, as with CUDA_LAUNCH_BLOCKING=1 */
    int waits_lost; /* streams wait for no event */
    Device device[MOST_DEVICES];
    Context *contexts;
    Capture *captures; /* that are under way */
} Emulator;

extern Emulator emu;

/* What has been counted since the last reset. */
typedef struct {
    int64_t copies, fills, kernels, hosts, graph_launches, peer_copies, staged_copies, problems, unsupported, abandoned,
        copied_bytes, execs_destroyed_in_flight, faults, multicast_accesses, races, steps, lost_edges, deadlocks;
} Counters;

extern Counters counters;

/* Takes the lock and counts the call. Returns the fault that a test asked for, and then the lock is free again. */
CUresult enter(const char *function);
CUresult leave(CUresult result);

#define ENTER() do { CUresult entered = enter(__func__); if (entered) return entered; } while (0)
#define LEAVE(code) return leave(code)
#define CHECK(condition, code) do { if (!(condition)) LEAVE(code); } while (0)
#define TRY(call) do { CUresult tried = (call); if (tried) LEAVE(tried); } while (0)

/* Notes what a GPU would have punished, for the test to read. */
void problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

void add_object(Object *object, Kind kind);
void *find_object(Handle handle, Kind kind);
void remove_object(Object *object);

/* A number of the sequence that the shuffle's seed begins; it is not 0. */
uint64_t random_number(void);
/* The fate of an operation that is about to begin, by the faults on command. */
void decide_fate(Op *op);
double now_us(void);

/* ---- context.c ---- */

/* The calling thread's context; *context is set where the code is OK. */
CUresult current(Context **context);
CUresult usable(const Context *context);
/* How many contexts the calling thread has on its stack. */
int stack_depth(void);
CUresult context_of(Handle handle, Context **context);
int may_access(const Context *context, const Context *owner);
void reset_contexts(void);

/* ---- engine.c ---- */

Op *new_op(const Work *work);
void keep(Op *op);
void drop(Op *op);
void depend(Op *op, Op *on);
/* Queues work behind a stream, or makes a node of it where the stream is capturing. *op, if wanted, is to be dropped. */
CUresult submit(Stream *stream, const Work *work, Op **op);
void begin(Op *op);
/* Lets late copies begin. */
void begin_late_copies(void);
CUresult wait_for(Op *op);
CUresult wait_for_context(Context *context);
/*
 * While allocations are coupled: waits for the work of the context and of all that peer access joins with it, and lets no
 * work be submitted there meanwhile.
 */
CUresult wait_for_coupled(Context *context);
/* Waits until something is done; 0 when patience has run out, which is noted, or at a reset. */
int wait_a_while(const char *what, double since);
CUresult stream_of(Handle handle, Stream **stream);
int64_t count_hung(void);
void run_hung(int code);
/* Of a node of a graph. */
void record_now(Op *by);
void lose_device(int index, int code);
/* The call of this thread, if it has waited, is over. */
void waited(void);
void resume_work(void);
void quiesce(void);
/* Frees an object of any kind and forgets its handle. */
void free_object(Object *object);

/* ---- memory.c ---- */

typedef struct {
    CUdeviceptr at;
    uint64_t bytes;
    unsigned align;
} Range;

/* By the clock: an operation begins behind another one, or has ended. */
void clock_behind(Op *op, const Op *on);
void clock_end(Op *op);

/* Whether a copy or fill is possible, at the time of the call. */
CUresult check_copy(Copy *copy, const Context *context);
CUresult check_fill(const Fill *fill, const Context *context);
/* Whether a copy or fill may touch the ranges; pins their memory until unpin. */
CUresult pin(const Range *ranges, int count, const char *what);
void unpin(const Range *ranges, int count);
void release_memory(Context *context);
void free_pool(Object *object);
void free_multicast(Object *object);
/* The places of a multicast address on all its devices; returns their number, or 0 and why it has none. */
int multicast_places(const Context *context, CUdeviceptr at, uint64_t bytes, CUdeviceptr *places, const char **why);
void free_backing(Object *object);
int64_t count_memory(const char *what);
/* Whether memory of another process is, or was, mapped here: kernels may wait for those of other processes. */
int shares_memory(void);
/* Notes the guard zones that were written to. */
void check_guards(void);
/* Whether a copy writes one word to memory of the host, as those do by which the host sees how far a graph has come. */
int is_signal(const Copy *copy);
/* Devices of the two ends; -1 is the host. */
void copy_devices(const Copy *copy, int *from, int *to);

/* CUDA_MEMCPY3D. */
typedef struct {
    size_t x, y, z, level;
    int type;
    CUdeviceptr host, device;
    uintptr_t array, reserved;
    size_t pitch, height;
} Corner;

typedef struct {
    Corner source, target;
    size_t width, height, depth;
} Box;

_Static_assert(sizeof(Box) == 200, "CUDA_MEMCPY3D");

CUresult copy_of_box(const Box *box, const Context *context, Copy *copy);
CUresult carry_out_copy(Op *op);
CUresult carry_out_fill(Op *op);

/* An allocation that work touches. */
typedef struct {
    CUdeviceptr at;
    uint64_t bytes;
    int device; /* whose memory it is; the work's own one for the host's */
} Window;

/* Finds the allocation of an access by work of the context, and pins it until close_window; *why where it may not be. */
CUresult open_window(const Context *context, CUdeviceptr at, uint64_t bytes, Window *window, const char **why);
void close_window(const Window *window);

/* ---- occupancy.c ---- */

struct Kernel;

/* What a multiprocessor of the device has. */
Room whole_room(const Device *device);
/* Bytes of shared memory that a block of the device may have. */
int most_shared_bytes(const Device *device);
/* Registers of a thread; of kernels that registers.inc does not know, an assumed number. */
int registers_of(const struct Kernel *kernel, const Device *device);
/* What a block takes; more than there is where none fits. */
Room room_of(const struct Kernel *kernel, const Device *device, unsigned threads, unsigned shared_bytes);
/* How many blocks are on a multiprocessor at once; 0 if none fits. */
int blocks_of_multiprocessor(const struct Kernel *kernel, const Device *device, unsigned threads, unsigned shared_bytes);
/* Takes room for a block where the fewest warps are, and returns the number of the multiprocessor, or -1. */
int take_room(Device *device, const Room *block);
void give_room(Device *device, int multiprocessor, const Room *block);

/* ---- module.c, interpret.c ---- */

/* HELD_UP waits for the command "release". */
enum { UNFINISHED = -1, HELD_UP = -2 };

/* Goes on with a kernel for a while; UNFINISHED until it has ended. */
CUresult carry_out_kernel(Op *op);
/* A kernel will not go on; what it has is freed now, or by free_ended_runs while another thread conducts. */
void end_run(Op *op, int is_conducted);
void free_ended_runs(void);
CUresult make_launch(Handle function, const unsigned *shape, unsigned shared_bytes, void **parameters, void **extra,
                     Work *work);

void free_module(Object *object);
void free_modules(const Context *context);

/* ---- race.c: nothing unless a seed interleaves what runs ---- */

typedef struct Shadows Shadows;

/* Begins anew: nothing is known of what happened before. Nothing may run. */
void begin_interleaving(uint64_t seed);
uint64_t chance(uint64_t of);
/* An operation comes behind what the host has seen to end; a node of a graph behind what its launch is behind. */
void order_begin(Op *op);
void order_node(Op *node, const Op *launch);
void order_after(Op *op, const Op *before);
void order_threads(Op *op);
void order_host(const Op *ended);
void forget_order(Op *op);
/* Notes that a copy or fill reads or writes a range of one allocation. */
void note_range(const Op *op, CUdeviceptr at, uint64_t bytes, int writes);
void free_shadows(Shadows *shadows);
/* In memory.c: where an allocation keeps its shadows, or NULL; and all of them go. */
Shadows **shadow_place(CUdeviceptr at, uint64_t *offset, uint64_t *bytes);
void forget_shadows(void);
/* Returns whether memory is the host's; with the lock. */
int is_of_host(CUdeviceptr at);

/* ---- graph.c ---- */

/* Captures work of a stream; the stream's next node depends on it. */
CUresult capture_work(Stream *stream, const Work *work);
CUresult capture_record(Stream *stream, Event *event);
CUresult capture_wait(Stream *stream, Event *event);
void forget_capture(Event *event);
void leave_capture(Stream *stream);
void spoil_capture(Capture *capture);
/* Whether a call that might wait for work must be refused since a capture is under way. */
CUresult unsafe_call(void);
/* Counts a launch of the graph among what its contexts have pending; its stream's has been counted. */
void count_launch(Exec *exec, const Context *launched, int by);
/* Orders a launch behind the last one of the same graph. */
void follow_launch(Exec *exec, Op *launch);
/* Begins the first nodes; the launch itself if there are none. */
Op *begin_graph(Op *launch);
/* A node is done, with an error or without, which those behind it inherit; the launch if it was the last one. */
Op *end_node(Op *node, int error);
void free_graph(Graph *graph);
void free_exec(Exec *exec);
void reset_captures(void);

#endif
