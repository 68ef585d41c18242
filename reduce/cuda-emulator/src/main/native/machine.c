/* The machine's description, commands, handles, faults, and what every call begins and ends with. */
#include "emulator.h"
#include "ptx.h"

#include <time.h>

enum { MOST_FAULTS = 64, MOST_FUNCTIONS = 1024, MOST_PROBLEMS = 64, PROBLEM_BYTES = 240 };

/* Recursive, as what work touches is looked up with the lock and without. */
Emulator emu = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};
Counters counters;

static struct {
    char function[64];
    int64_t left; /* calls up to the one that fails; 0 where this place is free */
    int code;
} call_faults[MOST_FAULTS];

static struct {
    char kind[16];
    int64_t left;
    Fate fate;
    int code, device;
} op_faults[MOST_FAULTS];

static int call_faults_armed, op_faults_armed;

static struct {
    const char *name;
    int64_t calls;
} functions[MOST_FUNCTIONS];

static char problems[MOST_PROBLEMS][PROBLEM_BYTES];

/* ---- Description ---- */

static void plain_machine(int devices) {
    memset(emu.device, 0, sizeof emu.device);
    emu.devices = devices;
    emu.switched = 0;
    for (int d = 0; d < devices; d++) {
        Device *device = &emu.device[d];
        snprintf(device->name, sizeof device->name, "Tesla V100-SXM2-16GB");
        snprintf(device->bus_id, sizeof device->bus_id, "0000:%02x:%02x.0", d / 8, 0x17 + d % 8);
        device->major = 7;
        device->multiprocessors = 80;
        device->bytes = 1ULL << 30; /* of 16 GiB: this is memory of the machine that runs the tests */
    }
}

/* The NVLinks of p3.16xlarge, a hybrid cube mesh; other pairs have no peer access. */
static void p3_16xlarge(void) {
    static const int links[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                                   {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
    plain_machine(8);
    for (int a = 0; a < 8; a++) {
        for (int b = 0; b < 8; b++) emu.device[a].rank[b] = -1;
    }
    for (size_t w = 0; w < sizeof links / sizeof *links; w++) {
        int a = links[w][0], b = links[w][1];
        emu.device[a].rank[b] = emu.device[b].rank[a] = 2 - links[w][2];
    }
}

static int device_number(const char *word, int *first, int *last) {
    char *end;
    if (!strcmp(word, "all")) {
        *first = 0;
        *last = emu.devices - 1;
        return 1;
    }
    *first = *last = (int)strtol(word, &end, 10);
    return *word && !*end && *first >= 0 && *first < emu.devices;
}

static int set_rank(const char *a, const char *b, const char *rank) {
    int a0, a1, b0, b1;
    if (!device_number(a, &a0, &a1) || !device_number(b, &b0, &b1)) return 0;
    int value = strcmp(rank, "none") ? atoi(rank) : -1;
    for (int i = a0; i <= a1; i++) {
        for (int j = b0; j <= b1; j++) emu.device[i].rank[j] = emu.device[j].rank[i] = value;
    }
    return 1;
}

static int mark_pair(const char *a, const char *b, int corrupt) {
    int a0, a1, b0, b1;
    if (!device_number(a, &a0, &a1) || !device_number(b, &b0, &b1)) return 0;
    for (int i = a0; i <= a1; i++) {
        for (int j = b0; j <= b1; j++) {
            if (corrupt) emu.device[i].corrupt[j] = 1;
            else emu.device[i].stall[j] = 1;
        }
    }
    return 1;
}

static int fail_call(const char *function, const char *k, const char *code) {
    for (int f = 0; f < MOST_FAULTS; f++) {
        if (call_faults[f].left) continue;
        snprintf(call_faults[f].function, sizeof call_faults[f].function, "%s", function);
        call_faults[f].left = atoll(k);
        call_faults[f].code = atoi(code);
        call_faults_armed += call_faults[f].left > 0;
        return call_faults[f].left > 0 && call_faults[f].code > 0;
    }
    return 0;
}

static int fail_op(const char *kind, const char *k, const char *fate, const char *a, const char *b) {
    static const char *kinds[] = {"copy", "peer", "fill", "kernel", "host", "any"};
    int known = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) known |= !strcmp(kind, kinds[i]);
    for (int f = 0; known && f < MOST_FAULTS; f++) {
        if (op_faults[f].left) continue;
        snprintf(op_faults[f].kind, sizeof op_faults[f].kind, "%.15s", kind);
        op_faults[f].fate = !strcmp(fate, "fail") ? FAIL : !strcmp(fate, "hang") ? HANG
                          : !strcmp(fate, "lose") ? LOSE : HEALTHY;
        op_faults[f].device = atoi(a);
        op_faults[f].code = atoi(op_faults[f].fate == LOSE ? b : a);
        if (op_faults[f].fate == HEALTHY || atoll(k) <= 0) return 0;
        op_faults[f].left = atoll(k);
        op_faults_armed++;
        return 1;
    }
    return 0;
}

static int device_setting(const char *word, const char *which, const char *a, const char *b, const char *rest) {
    int first, last;
    if (!device_number(which, &first, &last)) return 0;
    for (int d = first; d <= last; d++) {
        Device *device = &emu.device[d];
        if (!strcmp(word, "name")) snprintf(device->name, sizeof device->name, "%s", rest);
        else if (!strcmp(word, "bus")) snprintf(device->bus_id, sizeof device->bus_id, "%.15s", a);
        else if (!strcmp(word, "memory")) device->bytes = strtoull(a, NULL, 10);
        else if (!strcmp(word, "multiprocessors")) {
            device->multiprocessors = atoi(a);
            if (device->multiprocessors < 1 || device->multiprocessors > MOST_MULTIPROCESSORS) return 0;
        }
        else if (!strcmp(word, "lose")) lose_device(d, atoi(a));
        else {
            device->major = atoi(a);
            device->minor = atoi(b);
        }
    }
    return 1;
}

/* From now on what runs goes on in an order that the seed chooses; 0 for no more. Waits for what runs. */
static int interleave(uint64_t seed) {
    int runs = 0;
    for (Context *context = emu.contexts; context; context = context->next) {
        if (context->pending > 0 && !emu.paused) wait_for_context(context);
        runs |= context->pending > 0;
    }
    waited();
    if (runs) return 0;
    begin_interleaving(seed);
    emu.interleave = seed != 0;
    return 1;
}

/* us of a launch, a node, an edge between devices and a copy, and GB/s of copies; or off. */
static int set_clock(const char *launch, const char *others) {
    double gbs = 0;
    memset(&emu.cost, 0, sizeof emu.cost);
    if (emu.clock < emu.host_clock) emu.clock = emu.host_clock;
    emu.first_clock = emu.host_clock = emu.clock;
    if (!strcmp(launch, "off")) return 1;
    emu.cost.launch = atof(launch);
    if (sscanf(others, "%lf %lf %lf %lf", &emu.cost.node, &emu.cost.edge, &emu.cost.copy, &gbs) != 4 || gbs <= 0) return 0;
    emu.cost.per_byte = 1e-3 / gbs;
    return 1;
}

static int command(const char *line) {
    char word[32] = "", w[5][64] = {"", "", "", "", ""};
    int rest = 0;
    int words = sscanf(line, " %31s %63s %n", word, w[0], &rest);
    if (words < 1 || *word == '#') return 1;
    const char *text = rest ? line + rest : "";
    sscanf(text, "%63s %63s %63s %63s", w[1], w[2], w[3], w[4]);
    int number = atoi(w[0]);
    if (!strcmp(word, "machine") && !strcmp(w[0], "p3.16xlarge")) p3_16xlarge();
    else if (!strcmp(word, "devices") && number >= 0 && number <= MOST_DEVICES) {
        plain_machine(number);
        emu.switched = !strcmp(w[1], "switched");
    }
    else if (!strcmp(word, "peer")) return set_rank(w[0], w[1], w[2]);
    else if (!strcmp(word, "corrupt") || !strcmp(word, "stall")) return mark_pair(w[0], w[1], *word == 'c');
    else if (!strcmp(word, "name") || !strcmp(word, "bus") || !strcmp(word, "memory") || !strcmp(word, "capability")
             || !strcmp(word, "multiprocessors") || !strcmp(word, "lose")) return device_setting(word, w[0], w[1], w[2], text);
    else if (!strcmp(word, "driver")) emu.driver_version = number;
    else if (!strcmp(word, "staging")) emu.strict = !strcmp(w[0], "refused");
    else if (!strcmp(word, "multicast")) emu.multicast = !strcmp(w[0], "on") ? 1 : !strcmp(w[0], "unready") ? 2 : 0;
    else if (!strcmp(word, "descriptors")) emu.no_descriptors = !strcmp(w[0], "none");
    else if (!strcmp(word, "frees")) emu.free_waits = !strcmp(w[0], "wait");
    else if (!strcmp(word, "allocations")) emu.coupled = !strcmp(w[0], "coupled");
    else if (!strcmp(word, "enables")) emu.enables_wait = !strcmp(w[0], "wait");
    else if (!strcmp(word, "workers") && number > 0) emu.workers = number;
    else if (!strcmp(word, "shuffle")) emu.shuffle = strtoull(w[0], NULL, 10);
    else if (!strcmp(word, "interleave")) return interleave(strtoull(w[0], NULL, 10));
    else if (!strcmp(word, "lose-edge") && number > 0) emu.lost_edge = number;
    else if (!strcmp(word, "lose-flag") && number > 0) emu.lost_flag = number;
    else if (!strcmp(word, "patience") && number >= 0) emu.patience = number;
    else if (!strcmp(word, "pageable")) emu.pageable_late = !strcmp(w[0], "late");
    else if (!strcmp(word, "failed-work")) emu.failed_work_errors = !strcmp(w[0], "errors");
    else if (!strcmp(word, "clock")) return set_clock(w[0], text);
    else if (!strcmp(word, "timer")) emu.timer_ahead = atof(w[0]);
    else if (!strcmp(word, "fail")) return fail_call(w[0], w[1], w[2]);
    else if (!strcmp(word, "op")) return fail_op(w[0], w[1], w[2], w[3], w[4]);
    else if (!strcmp(word, "waits")) emu.waits_lost = !strcmp(w[0], "lost");
    else if (!strcmp(word, "launches")) {
        emu.launches_skipped = !strcmp(w[0], "skipped");
        emu.launches_block = !strcmp(w[0], "blocking");
    }
    else if (!strcmp(word, "uuids")) emu.uuids = !strcmp(w[0], "known");
    else if (!strcmp(word, "pause")) emu.paused = 1;
    else if (!strcmp(word, "resume")) resume_work();
    else if (!strcmp(word, "release")) run_hung(number);
    else return 0;
    return 1;
}

/* 0, or the number of the line that cannot be read. */
static int commands(const char *text) {
    for (int number = 1; *text; number++) {
        char line[512];
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        if (!command(line)) return number;
        text += length + (text[length] == '\n');
    }
    return 0;
}

static void describe(void) {
    emu.driver_version = 12060;
    emu.strict = 1;
    emu.free_waits = 1;
    emu.multicast = 0;
    emu.enables_wait = 0;
    emu.workers = 4;
    emu.shuffle = 0;
    emu.patience = 0;
    emu.timer_ahead = 0;
    emu.failed_work_errors = 0;
    emu.pageable_late = 0;
    set_clock("off", "");
    emu.paused = 0;
    emu.launches_skipped = emu.launches_block = emu.waits_lost = emu.coupled = emu.uuids = 0;
    emu.lost_edge = emu.lost_flag = 0;
    interleave(0);
    p3_16xlarge();
    const char *path = getenv("BANYAN_EMULATED_CUDA");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (path && !file) fprintf(stderr, "emulated CUDA: cannot read %s\n", path);
    if (!file) return;
    char text[65536];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    int bad = commands(text);
    if (bad) fprintf(stderr, "emulated CUDA: %s line %d cannot be understood\n", path, bad);
}

__attribute__((constructor)) static void describe_at_load(void) { describe(); }

/* ---- Handles ---- */

#define FIRST_HANDLE 0xC0DA00000000ULL

static Object **objects;
static size_t object_count, object_room;

void add_object(Object *object, Kind kind) {
    if (object_count == object_room) {
        object_room = object_room ? 2 * object_room : 256;
        objects = realloc(objects, object_room * sizeof *objects);
    }
    object->kind = kind;
    object->handle = FIRST_HANDLE + 16 * object_count;
    objects[object_count++] = object;
}

void *find_object(Handle handle, Kind kind) {
    size_t index = (handle - FIRST_HANDLE) / 16;
    if (handle < FIRST_HANDLE || handle % 16 || index >= object_count) return NULL;
    if (!objects[index]) problem("a handle (0x%llx) is used after its end", (unsigned long long)handle);
    return objects[index] && objects[index]->kind == kind ? objects[index] : NULL;
}

void remove_object(Object *object) { objects[(object->handle - FIRST_HANDLE) / 16] = NULL; }

static int64_t count_objects(Kind kind) {
    int64_t count = 0;
    for (size_t i = 0; i < object_count; i++) count += objects[i] && objects[i]->kind == kind;
    return count;
}

/* ---- Calls ---- */

void problem(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (counters.problems < MOST_PROBLEMS) vsnprintf(problems[counters.problems], PROBLEM_BYTES, format, arguments);
    va_end(arguments);
    counters.problems++;
}

/* cuMemAlloc is cuMemAlloc_v2, too. */
static int is_function(const char *function, const char *name) {
    size_t length = strlen(name);
    return !strcmp(name, "*") || (!strncmp(function, name, length)
        && (!function[length] || (function[length] == '_' && function[length + 1] == 'v')));
}

static void count_call(const char *function) {
    emu.calls++;
    size_t place = ((uintptr_t)function >> 2) % MOST_FUNCTIONS;
    while (functions[place].name && functions[place].name != function) place = (place + 1) % MOST_FUNCTIONS;
    functions[place].name = function;
    functions[place].calls++;
}

static CUresult call_fault(const char *function) {
    CUresult code = OK;
    for (int f = 0; f < MOST_FAULTS; f++) {
        if (!call_faults[f].left || !is_function(function, call_faults[f].function) || --call_faults[f].left) continue;
        call_faults_armed--;
        code = call_faults[f].code;
    }
    return code;
}

CUresult enter(const char *function) {
    pthread_mutex_lock(&emu.lock);
    count_call(function);
    CUresult code = call_faults_armed ? call_fault(function) : OK;
    if (!code && !emu.initialized && strcmp(function, "cuInit")) code = NOT_INITIALIZED;
    if (code) pthread_mutex_unlock(&emu.lock);
    return code;
}

CUresult leave(CUresult result) {
    waited();
    pthread_mutex_unlock(&emu.lock);
    return result;
}

static int is_kind(const Op *op, const char *kind, int from, int to) {
    switch (op->work.kind) {
        case COPY: return !strcmp(kind, "copy") || !strcmp(kind, "any") || (from != to && !strcmp(kind, "peer"));
        case FILL: return !strcmp(kind, "fill") || !strcmp(kind, "any");
        case KERNEL: return !strcmp(kind, "kernel") || !strcmp(kind, "any");
        case HOST: return !strcmp(kind, "host") || !strcmp(kind, "any");
        default: return 0;
    }
}

uint64_t random_number(void) {
    emu.shuffle ^= emu.shuffle << 13;
    emu.shuffle ^= emu.shuffle >> 7;
    return emu.shuffle ^= emu.shuffle << 17;
}

void decide_fate(Op *op) {
    op->fate = HEALTHY;
    int from = 0, to = 0;
    if (op->work.kind == COPY) {
        copy_devices(&op->work.copy, &from, &to);
        if (from != to && from >= 0 && to >= 0 && emu.device[from].stall[to]) op->fate = HANG;
        if (from < 0 || to < 0) from = to; /* the host is no peer */
    }
    for (int f = 0; op_faults_armed && f < MOST_FAULTS; f++) {
        if (!op_faults[f].left || !is_kind(op, op_faults[f].kind, from, to) || --op_faults[f].left) continue;
        op_faults_armed--;
        counters.faults++;
        op->fate = op_faults[f].fate;
        op->fate_code = op_faults[f].code;
        op->fate_device = op_faults[f].device;
    }
}

double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

/* ---- What tests call ---- */

/* Ends all work, forgets all objects, memory, faults and counts, and plays the first machine again. */
API void banyan_emu_reset(void) {
    pthread_mutex_lock(&emu.lock);
    quiesce();
    reset_captures();
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i]) free_object(objects[i]);
    }
    release_memory(NULL);
    reset_contexts();
    /* Handles are never given twice, so that old ones are known. */
    memset(call_faults, 0, sizeof call_faults);
    memset(op_faults, 0, sizeof op_faults);
    call_faults_armed = op_faults_armed = 0;
    memset(functions, 0, sizeof functions);
    memset(&counters, 0, sizeof counters);
    forget_kernels();
    memset(problems, 0, sizeof problems);
    emu.calls = 0;
    describe();
    pthread_mutex_unlock(&emu.lock);
}

/* Carries out lines as README.md lists them; 0, or the number of the first one that it cannot read. */
API int banyan_emu_command(const char *lines) {
    pthread_mutex_lock(&emu.lock);
    int bad = commands(lines);
    pthread_mutex_unlock(&emu.lock);
    return bad;
}

static int64_t count_of(const char *what) {
    static const struct {
        const char *name;
        int64_t *value;
    } named[] = {{"copies", &counters.copies}, {"peer copies", &counters.peer_copies},
                 {"staged copies", &counters.staged_copies}, {"copied bytes", &counters.copied_bytes},
                 {"fills", &counters.fills}, {"kernels", &counters.kernels}, {"host functions", &counters.hosts},
                 {"graph launches", &counters.graph_launches}, {"problems", &counters.problems},
                 {"unsupported", &counters.unsupported}, {"abandoned", &counters.abandoned},
                 {"execs destroyed in flight", &counters.execs_destroyed_in_flight}, {"races", &counters.races}, {"faults", &counters.faults},
                 {"lost edges", &counters.lost_edges}, {"deadlocks", &counters.deadlocks},
                 {"steps", &counters.steps}, {"multicast accesses", &counters.multicast_accesses}};
    static const char *kinds[] = {"", "contexts", "streams", "events", "modules", "functions", "graphs", "nodes", "execs",
                                  "pools", "backings", "multicasts"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (!strcmp(what, named[i].name)) return *named[i].value;
    }
    for (int kind = CONTEXT; kind <= MULTICAST; kind++) {
        if (!strcmp(what, kinds[kind])) return count_objects(kind);
    }
    if (!strcmp(what, "clock us")) {
        return (int64_t)((emu.clock > emu.host_clock ? emu.clock : emu.host_clock) - emu.first_clock + 0.5);
    }
    if (!strcmp(what, "stack depth")) return stack_depth();
    if (!strcmp(what, "hung")) return count_hung();
    if (!strcmp(what, "calls")) return (int64_t)emu.calls;
    if (!strncmp(what, "kernels ", 8)) return count_kernels(what + 8);
    if (!strncmp(what, "calls ", 6)) {
        int64_t calls = 0;
        for (int f = 0; f < MOST_FUNCTIONS; f++) {
            if (functions[f].name && is_function(functions[f].name, what + 6)) calls += functions[f].calls;
        }
        return calls;
    }
    return count_memory(what);
}

/* A count since the last reset, as README.md lists them; -1 if there is none of this name. */
API int64_t banyan_emu_count(const char *what) {
    pthread_mutex_lock(&emu.lock);
    int64_t count = count_of(what);
    pthread_mutex_unlock(&emu.lock);
    return count;
}

/* The first problems, one a line, as far as they have room; checks guard zones first. */
API void banyan_emu_problems(char *text, int64_t room) {
    pthread_mutex_lock(&emu.lock);
    check_guards();
    int64_t used = 0;
    for (int p = 0; p < counters.problems && p < MOST_PROBLEMS && used < room; p++) {
        used += snprintf(text + used, (size_t)(room - used), "%s\n", problems[p]);
    }
    if (!counters.problems && room > 0) *text = 0;
    pthread_mutex_unlock(&emu.lock);
}

/* ---- cuInit, versions and errors ---- */

API CUresult cuInit(unsigned flags) {
    ENTER();
    CHECK(!flags, INVALID_VALUE);
    CHECK(emu.devices, NO_DEVICE);
    emu.initialized = 1;
    LEAVE(OK);
}

API CUresult cuDriverGetVersion(int *version) {
    if (!version) return INVALID_VALUE;
    *version = emu.driver_version;
    return OK;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected during the execution"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "peer mapping resources exhausted"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult error_text(int code, const char **text, int name) {
    if (!text) return INVALID_VALUE;
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == code) *text = name ? errors[i].name : errors[i].text;
    }
    return *text ? OK : INVALID_VALUE;
}

API CUresult cuGetErrorName(CUresult code, const char **text) { return error_text(code, text, 1); }

API CUresult cuGetErrorString(CUresult code, const char **text) { return error_text(code, text, 0); }

/* ---- Devices ---- */

#define DEVICE(device, number) \
    CHECK((number) >= 0 && (number) < emu.devices, INVALID_DEVICE); \
    Device *device = &emu.device[number]

API CUresult cuDeviceGetCount(int *count) {
    ENTER();
    CHECK(count, INVALID_VALUE);
    *count = emu.devices;
    LEAVE(OK);
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER();
    CHECK(device, INVALID_VALUE);
    CHECK(ordinal >= 0 && ordinal < emu.devices, INVALID_DEVICE);
    *device = ordinal;
    LEAVE(OK);
}

API CUresult cuDeviceGetName(char *name, int room, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(name && room > 0, INVALID_VALUE);
    snprintf(name, (size_t)room, "%s", device->name);
    LEAVE(OK);
}

API CUresult cuDeviceGetUuid(unsigned char *uuid, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(uuid, INVALID_VALUE);
    CHECK(emu.uuids, NOT_SUPPORTED);
    memset(uuid, 0xE0, 16);
    uuid[15] = (unsigned char)(device - emu.device);
    LEAVE(OK);
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(bytes, INVALID_VALUE);
    *bytes = device->bytes;
    LEAVE(OK);
}

API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(major && minor, INVALID_VALUE);
    *major = device->major;
    *minor = device->minor;
    LEAVE(OK);
}

API CUresult cuDeviceGetPCIBusId(char *text, int room, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(text && room >= 13, INVALID_VALUE);
    snprintf(text, (size_t)room, "%s", device->bus_id);
    LEAVE(OK);
}

API CUresult cuDeviceGetByPCIBusId(CUdevice *number, const char *text) {
    ENTER();
    CHECK(number && text, INVALID_VALUE);
    for (int d = 0; d < emu.devices; d++) {
        if (strcasecmp(emu.device[d].bus_id, text)) continue;
        *number = d;
        LEAVE(OK);
    }
    LEAVE(INVALID_DEVICE);
}

/* Attributes that a device does not have are 0, as in the driver. */
static int attribute(const Device *device, int which) {
    unsigned domain = 0, bus = 0, slot = 0;
    sscanf(device->bus_id, "%x:%x:%x", &domain, &bus, &slot);
    switch (which) {
        case 1: case 2: case 3: return 1024; /* threads per block, and along x and y */
        case 4: return 64;
        case 5: return 0x7fffffff; /* blocks along x, y, z */
        case 6: case 7: return 65535;
        case 8: return 49152; /* shared memory of a block */
        case 9: return 65536; /* constant memory */
        case 10: return 32; /* threads of a warp */
        case 12: return 65536; /* registers of a block */
        case 13: return 1530000; /* clock in kHz */
        case 14: return 512; /* alignment of textures */
        case 15: return 1; /* copies and kernels overlap */
        case 16: return device->multiprocessors;
        case 19: return 1; /* can map host memory */
        case 31: return 1; /* concurrent kernels */
        case 32: return 1; /* ECC */
        case 33: return (int)bus;
        case 34: return (int)slot;
        case 36: return 877000; /* memory clock in kHz */
        case 37: return 4096; /* bits of the memory's bus */
        case 38: return 6291456; /* L2 */
        case 39: return 32 * whole_room(device).warps; /* threads of a multiprocessor */
        case 40: return 6; /* copy engines */
        case 41: return 1; /* unified addressing */
        case 50: return (int)domain;
        case 75: return device->major;
        case 76: return device->minor;
        case 78: return 1; /* stream priorities */
        case 81: return whole_room(device).shared;
        case 91: return 1; /* registered host memory has the same address */
        case 95: return 1; /* cooperative launches */
        case 102: return 1; /* mapped memory */
        case 103: return !emu.no_descriptors; /* descriptors of it */
        case 97: return most_shared_bytes(device); /* of a block that opts in */
        case 106: return whole_room(device).blocks;
        case 115: return 1; /* memory pools */
        case 132: return emu.multicast && device->major >= 9; /* multicast objects */
        default: return 0;
    }
}

API CUresult cuDeviceGetAttribute(int *value, int which, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(value && which > 0 && which < 150, INVALID_VALUE);
    *value = attribute(device, which);
    LEAVE(OK);
}

API CUresult cuDeviceGetProperties(int *properties, CUdevice number) {
    ENTER();
    DEVICE(device, number);
    CHECK(properties, INVALID_VALUE);
    static const int which[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) properties[i] = attribute(device, which[i]);
    LEAVE(OK);
}

static int can_access(const Device *device, int peer) {
    return device != &emu.device[peer] && device->rank[peer] >= 0;
}

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice number, CUdevice peer) {
    ENTER();
    DEVICE(device, number);
    CHECK(peer >= 0 && peer < emu.devices, INVALID_DEVICE);
    CHECK(can, INVALID_VALUE);
    *can = can_access(device, peer);
    LEAVE(OK);
}

API CUresult cuDeviceGetP2PAttribute(int *value, int which, CUdevice number, CUdevice peer) {
    ENTER();
    DEVICE(device, number);
    CHECK(peer >= 0 && peer < emu.devices && peer != number, INVALID_DEVICE);
    CHECK(value && which >= 1 && which <= 4, INVALID_VALUE);
    int access = can_access(device, peer);
    *value = which == 1 ? (access ? device->rank[peer] : 0) : access;
    LEAVE(OK);
}
