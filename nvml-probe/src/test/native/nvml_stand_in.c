/*
 * A stand-in for libnvidia-ml.so.1, for tests. It plays the machine that the file "machine.txt" beside it describes,
 * and writes each call and its code to "calls.txt" there. Names, codes and layouts are those of NVML 12.2.
 *
 * Lines of the description; "#" begins a comment, columns are separated by blanks, devices are numbered from 0:
 *
 *   driver VERSION
 *   gpu DEVICE BUS_ID SM_MAJOR SM_MINOR BYTES NUMA PCIE_GENERATION PCIE_LANES MODEL...
 *   mig DEVICE                              in MIG mode
 *   links DEVICE COUNT                      how many NVLinks it has; from COUNT on they are invalid arguments
 *   link DEVICE LINK VERSION P2P BUS_ID gpu|switch|cpu|unknown        an NVLink that is up
 *   level DEVICE DEVICE LEVEL               common ancestor, both ways (else 50)
 *   peer DEVICE DEVICE INDEX STATUS         P2P status, this way (else 0 for reads and writes, and for NVLink 0 where
 *                                           both are linked to one another or to switches, else 5)
 *   fail FUNCTION CODE [DEVICE [LINK]]      the code instead of an answer; DEVICE is any device of a pair, -1 for all
 *
 * A description that cannot be read, or a call with an argument that NVML would refuse, is told on stderr.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define MOST_DEVICES 64
#define MOST_LINKS 18
#define MOST_FAILURES 256

enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, UNKNOWN = 999 };

typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} PciInfo;

typedef struct {
    unsigned long long total, free, used;
} Memory;

_Static_assert(sizeof(PciInfo) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(Memory) == 24, "nvmlMemory_t");

typedef struct {
    int up, version, p2p;
    unsigned type;
    char remote[40];
} NvLink;

typedef struct {
    int present, major, minor, numa, generation, lanes, mig, links;
    unsigned long long bytes;
    char bus_id[40];
    char model[80];
    NvLink link[MOST_LINKS];
} Gpu;

typedef struct {
    char function[64];
    int code, device, link;
} Failure;

static struct {
    int initialized, gpus, failures;
    char driver[80];
    Gpu gpu[MOST_DEVICES];
    int level[MOST_DEVICES][MOST_DEVICES];
    int peer[MOST_DEVICES][MOST_DEVICES][3];
    Failure failure[MOST_FAILURES];
} machine;

/* A file beside this library. */
static FILE *beside(const char *name, const char *mode) {
    Dl_info info;
    char path[4096];
    if (!dladdr((void *)&beside, &info)) return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    snprintf(path, sizeof path, "%.*s%s", folder, info.dli_fname, name);
    return fopen(path, mode);
}

static FILE *calls;

static int log_call(const char *function, int device, int link, int code) {
    if (!calls) calls = beside("calls.txt", "a");
    if (calls) fprintf(calls, "%s %d %d %d\n", function, device, link, code);
    return code;
}

__attribute__((destructor)) static void close_log(void) {
    if (calls) fclose(calls);
    calls = NULL;
}

static int bad(int line, const char *text) {
    fprintf(stderr, "stand-in: machine.txt line %d: %s\n", line, text);
    return UNKNOWN;
}

static Gpu *gpu_at(int device) { return device >= 0 && device < MOST_DEVICES ? &machine.gpu[device] : NULL; }

static int read_gpu(const char *line) {
    int device, skip = 0;
    Gpu gpu = {.present = 1};
    if (sscanf(line, "%d %39s %d %d %llu %d %d %d %n", &device, gpu.bus_id, &gpu.major, &gpu.minor, &gpu.bytes,
               &gpu.numa, &gpu.generation, &gpu.lanes, &skip) < 8 || !gpu_at(device)) return 0;
    snprintf(gpu.model, sizeof gpu.model, "%s", line + skip);
    machine.gpu[device] = gpu;
    if (device >= machine.gpus) machine.gpus = device + 1;
    return 1;
}

static int read_link(const char *line) {
    int device, link;
    char type[16];
    NvLink read = {.up = 1};
    if (sscanf(line, "%d %d %d %d %39s %15s", &device, &link, &read.version, &read.p2p, read.remote, type) != 6
        || !gpu_at(device) || link < 0 || link >= MOST_LINKS) return 0;
    read.type = !strcmp(type, "gpu") ? 0 : !strcmp(type, "cpu") ? 1 : !strcmp(type, "switch") ? 2 : 255;
    machine.gpu[device].link[link] = read;
    return 1;
}

static int read_line(const char *word, const char *rest) {
    int a, b, c, d;
    if (!strcmp(word, "driver")) return sscanf(rest, "%79s", machine.driver) == 1;
    if (!strcmp(word, "gpu")) return read_gpu(rest);
    if (!strcmp(word, "link")) return read_link(rest);
    if (!strcmp(word, "mig")) return sscanf(rest, "%d", &a) == 1 && gpu_at(a) && (gpu_at(a)->mig = 1);
    if (!strcmp(word, "links")) {
        if (sscanf(rest, "%d %d", &a, &b) != 2 || !gpu_at(a)) return 0;
        gpu_at(a)->links = b;
        return 1;
    }
    if (!strcmp(word, "level")) {
        if (sscanf(rest, "%d %d %d", &a, &b, &c) != 3 || !gpu_at(a) || !gpu_at(b)) return 0;
        machine.level[a][b] = machine.level[b][a] = c;
        return 1;
    }
    if (!strcmp(word, "peer")) {
        if (sscanf(rest, "%d %d %d %d", &a, &b, &c, &d) != 4 || !gpu_at(a) || !gpu_at(b) || c < 0 || c > 2) return 0;
        machine.peer[a][b][c] = d;
        return 1;
    }
    if (!strcmp(word, "fail") && machine.failures < MOST_FAILURES) {
        Failure *failure = &machine.failure[machine.failures];
        failure->device = failure->link = -1;
        if (sscanf(rest, "%63s %d %d %d", failure->function, &failure->code, &failure->device, &failure->link) < 2)
            return 0;
        machine.failures++;
        return 1;
    }
    return 0;
}

static int read_machine(void) {
    memset(&machine, 0, sizeof machine);
    for (int a = 0; a < MOST_DEVICES; a++)
        for (int b = 0; b < MOST_DEVICES; b++) {
            machine.level[a][b] = 50;
            for (int index = 0; index < 3; index++) machine.peer[a][b][index] = -1;
        }
    FILE *file = beside("machine.txt", "r");
    if (!file) return bad(0, "no such file");
    char line[512], word[32];
    int number = 0, code = OK, skip;
    while (code == OK && fgets(line, sizeof line, file)) {
        number++;
        line[strcspn(line, "#\r\n")] = 0;
        skip = 0;
        if (sscanf(line, "%31s %n", word, &skip) == 1 && !read_line(word, line + skip)) code = bad(number, line);
    }
    fclose(file);
    return code;
}

/* The code that a call is to return: one that was ordered, else that of its arguments. */
static int code_of(const char *function, int a, int b, int link, int arguments_are_right) {
    for (int i = 0; i < machine.failures; i++) {
        Failure *failure = &machine.failure[i];
        if (!strcmp(failure->function, function)
            && (failure->device < 0 || failure->device == a || failure->device == b)
            && (failure->link < 0 || failure->link == link)) return log_call(function, a, link, failure->code);
    }
    int code = machine.initialized <= 0 ? UNINITIALIZED : arguments_are_right ? OK : INVALID_ARGUMENT;
    if (code == INVALID_ARGUMENT && link < 0) fprintf(stderr, "stand-in: %s: invalid argument\n", function);
    return log_call(function, a, link, code);
}

/* A handle is the address of its device; anything else gives -1. */
static int index_of(void *handle) {
    for (int i = 0; i < MOST_DEVICES; i++)
        if (handle == &machine.gpu[i] && machine.gpu[i].present) return i;
    return -1;
}

#define ANSWER(device, link, right)                                     \
    int index = device;                                                 \
    int code = code_of(__func__, index, -1, link, index >= 0 && (right)); \
    if (code != OK) return code

static int fill_pci(const char *bus_id, PciInfo *info) {
    memset(info, 0xA5, sizeof *info);
    if (sscanf(bus_id, "%x:%x:%x", &info->domain, &info->bus, &info->device) != 3) return UNKNOWN;
    snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%04X:%02X:%02X.0", info->domain & 0xFFFF, info->bus,
             info->device);
    snprintf(info->busId, sizeof info->busId, "%08X:%02X:%02X.0", info->domain, info->bus, info->device);
    return OK;
}

API int nvmlInit_v2(void) {
    int code = read_machine();
    if (code != OK) return code;
    machine.initialized = 1;
    code = code_of(__func__, -1, -1, -1, 1);
    if (code != OK) {
        machine.initialized = 0;
        close_log();
    }
    return code;
}

API int nvmlShutdown(void) {
    int code = code_of(__func__, -1, -1, -1, 1);
    machine.initialized = 0;
    close_log();
    return code;
}

API int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    int code = code_of(__func__, -1, -1, -1, version != NULL);
    if (code == OK && strlen(machine.driver) >= length) return INSUFFICIENT_SIZE;
    if (code == OK) strcpy(version, machine.driver);
    return code;
}

API int nvmlDeviceGetCount_v2(unsigned *count) {
    int code = code_of(__func__, -1, -1, -1, count != NULL);
    if (code == OK) *count = machine.gpus;
    return code;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned device, void **handle) {
    ANSWER((int)device, -1, handle && gpu_at(device) && gpu_at(device)->present);
    *handle = &machine.gpu[index];
    return OK;
}

API int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    ANSWER(index_of(device), -1, name != NULL);
    if (strlen(machine.gpu[index].model) >= length) return INSUFFICIENT_SIZE;
    strcpy(name, machine.gpu[index].model);
    return OK;
}

API int nvmlDeviceGetPciInfo_v3(void *device, PciInfo *info) {
    ANSWER(index_of(device), -1, info != NULL);
    return fill_pci(machine.gpu[index].bus_id, info);
}

API int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
    ANSWER(index_of(device), -1, memory != NULL);
    memory->total = machine.gpu[index].bytes;
    memory->used = memory->total / 4;
    memory->free = memory->total - memory->used;
    return OK;
}

API int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    ANSWER(index_of(device), -1, major && minor);
    *major = machine.gpu[index].major;
    *minor = machine.gpu[index].minor;
    return OK;
}

API int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation) {
    ANSWER(index_of(device), -1, generation != NULL);
    *generation = machine.gpu[index].generation;
    return OK;
}

API int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *lanes) {
    ANSWER(index_of(device), -1, lanes != NULL);
    *lanes = machine.gpu[index].lanes;
    return OK;
}

#ifndef OLD_DRIVER
API int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    ANSWER(index_of(device), -1, current && pending);
    if (machine.gpu[index].major < 8) return NOT_SUPPORTED;
    *current = *pending = machine.gpu[index].mig;
    return OK;
}

API int nvmlDeviceGetMemoryAffinity(void *device, unsigned words, unsigned long *nodes, unsigned scope) {
    ANSWER(index_of(device), -1, words > 0 && nodes && scope == 0);
    int numa = machine.gpu[index].numa;
    memset(nodes, 0, words * sizeof *nodes);
    /* -1: all nodes are equally near, as on a machine that does not tell. */
    if (numa < 0) nodes[0] = 3;
    else nodes[numa / 64] = 1ul << numa % 64;
    return OK;
}

API int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, unsigned *type) {
    ANSWER(index_of(device), (int)link, type && (int)link < machine.gpu[index].links);
    *type = machine.gpu[index].link[link].type;
    return OK;
}
#endif

API int nvmlDeviceGetTopologyCommonAncestor(void *first, void *second, unsigned *level) {
    int a = index_of(first), b = index_of(second);
    int code = code_of(__func__, a, b, -1, a >= 0 && b >= 0 && a != b && level);
    if (code == OK) *level = machine.level[a][b];
    return code;
}

static int linked(int a, int b) {
    int to_switch = 0;
    for (int i = 0; i < MOST_LINKS; i++) {
        NvLink *link = &machine.gpu[a].link[i];
        if (link->up && link->type == 0 && !strcmp(link->remote, machine.gpu[b].bus_id)) return 1;
        to_switch |= link->up && link->type == 2;
    }
    if (to_switch)
        for (int i = 0; i < MOST_LINKS; i++)
            if (machine.gpu[b].link[i].up && machine.gpu[b].link[i].type == 2) return 1;
    return 0;
}

API int nvmlDeviceGetP2PStatus(void *first, void *second, unsigned index, unsigned *status) {
    int a = index_of(first), b = index_of(second);
    int code = code_of(__func__, a, b, -1, a >= 0 && b >= 0 && a != b && index < 3 && status);
    if (code != OK) return code;
    int ordered = machine.peer[a][b][index];
    *status = ordered >= 0 ? ordered : index < 2 || linked(a, b) ? 0 : 5;
    return OK;
}

API int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active) {
    ANSWER(index_of(device), (int)link, active && (int)link < machine.gpu[index].links);
    *active = machine.gpu[index].link[link].up;
    return OK;
}

API int nvmlDeviceGetNvLinkVersion(void *device, unsigned link, unsigned *version) {
    ANSWER(index_of(device), (int)link, version && (int)link < machine.gpu[index].links);
    *version = machine.gpu[index].link[link].version;
    return OK;
}

API int nvmlDeviceGetNvLinkCapability(void *device, unsigned link, unsigned capability, unsigned *result) {
    ANSWER(index_of(device), (int)link, capability == 0 && result && (int)link < machine.gpu[index].links);
    *result = machine.gpu[index].link[link].p2p;
    return OK;
}

API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, PciInfo *info) {
    ANSWER(index_of(device), (int)link, info && (int)link < machine.gpu[index].links);
    return fill_pci(machine.gpu[index].link[link].remote, info);
}
