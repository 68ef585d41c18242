/*
 * Memory of devices and pinned memory of the host. Both lie in the host's memory, between guard zones; everything is
 * poisoned when it is allocated, with bytes that make a NaN of every float.
 */
#include "emulator.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GUARD_BYTES = 512, POISON = 0xFF, GUARD = 0xA5, HOST_MAPPED = 2, READ_WRITE = 3, GRANULARITY = 2 << 20 };
enum { POSIX_DESCRIPTOR = 1 }; /* CUmemAllocationHandleType */

typedef enum { ON_DEVICE, ON_HOST, REGISTERED } Place;

/* A pool of stream-ordered memory. */
typedef struct {
    Object object;
    int device;
    int refs; /* its handle and what is allocated from it */
    unsigned char access[MOST_DEVICES]; /* flags of CUmemAccess_flags */
} Pool;

/* An allocation of cuMemCreate, which is a file in memory, or of another process, whose descriptor was imported. */
typedef struct {
    Object object;
    int device, file;
    uint64_t bytes;
    int handles; /* how often cuMemRelease must be called */
    int refs; /* its handles, taken together, and its mappings */
    int is_exportable; /* made with the type of handles that are descriptors */
    int is_imported, is_unseen; /* is_unseen where this process does not see its device */
} Backing;

/* Memory of a device that a multicast object has at an offset, in the file of a process. */
typedef struct {
    char bus_id[32];
    uint64_t offset, bytes, id;
    int32_t process, file;
    uint64_t file_offset;
    CUdeviceptr at; /* where that process has it */
} Binding;

/* State of a multicast object that all processes share; without bytes a binding is free. */
typedef struct {
    pthread_mutex_t lock;
    uint64_t bytes, next_id;
    int devices, added; /* that it is for, that were added */
    char has[MOST_DEVICES][32]; /* bus ids */
    Binding bindings[2 * MOST_DEVICES];
} Team;

/* A mapping of memory of another process, which a binding names. */
typedef struct View {
    uint64_t binding;
    CUdeviceptr at;
    uint64_t bytes;
    struct View *next;
} View;

typedef struct Multicast {
    Object object;
    Team *team;
    int file, is_exportable; /* or imported */
    View *views;
    int refs; /* its handle and its mappings */
    struct Multicast *next;
} Multicast;

static Multicast *multicasts;

typedef struct {
    CUdeviceptr at;
    uint64_t bytes;
    unsigned char *raw;
    uint64_t raw_bytes;
    Context *context;
    Place place;
    unsigned flags;
    uint64_t id;
    int busy; /* operations that are touching it */
    Shadows *shadows; /* of its bytes, while a seed interleaves what runs */
    Pool *pool; /* that it is of, or NULL */
    Backing *backing; /* that is mapped here, or NULL */
    uint64_t backing_offset;
    Multicast *multicast; /* that is mapped here, or NULL */
    unsigned char access[MOST_DEVICES]; /* of a mapping */
    int ended; /* its context has; to be discarded when it is no longer busy */
} Memory;

typedef struct Reservation {
    CUdeviceptr at;
    uint64_t bytes;
    struct Reservation *next;
} Reservation;

static Reservation *reservations;

static Memory **memories; /* in the order of their addresses */
static int count, room;
static uint64_t next_id = 1;

/* The place of the first one that ends behind the address. */
static int place_of(CUdeviceptr at) {
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (memories[middle]->at + memories[middle]->bytes > at) high = middle;
        else low = middle + 1;
    }
    return low;
}

static Memory *find(CUdeviceptr at) {
    int place = place_of(at);
    return place < count && memories[place]->at <= at ? memories[place] : NULL;
}

static void add(Memory *memory) {
    if (count == room) {
        room = room ? 2 * room : 64;
        memories = realloc(memories, (size_t)room * sizeof *memories);
    }
    int place = place_of(memory->at);
    memmove(memories + place + 1, memories + place, (size_t)(count - place) * sizeof *memories);
    memories[place] = memory;
    count++;
}

static void check_zone(const Memory *memory, const unsigned char *zone, uint64_t bytes, const char *side) {
    for (uint64_t b = 0; b < bytes; b++) {
        if (zone[b] == GUARD) continue;
        problem("%llu bytes at 0x%llx of device %d: the guard zone %s them was written to, at byte %lld",
                (unsigned long long)memory->bytes, (unsigned long long)memory->at, memory->context->index, side,
                (long long)((CUdeviceptr)(zone + b) - memory->at));
        return;
    }
}

static void check_guard(const Memory *memory) {
    if (!memory->raw) return;
    uint64_t end = GUARD_BYTES + memory->bytes;
    check_zone(memory, memory->raw, GUARD_BYTES, "before");
    check_zone(memory, memory->raw + end, memory->raw_bytes - end, "after");
}

void check_guards(void) {
    for (int m = 0; m < count; m++) check_guard(memories[m]);
}

static void drop_pool(Pool *pool) {
    if (pool && !--pool->refs) free(pool);
}

static void drop_backing(Backing *backing) {
    if (--backing->refs) return;
    if (!backing->is_imported) emu.device[backing->device].used -= backing->bytes;
    close(backing->file);
    free(backing);
}

void free_backing(Object *object) { drop_backing((Backing *)object); }

static void discard(Memory *memory);

static void lock_team(Team *team) {
    if (pthread_mutex_lock(&team->lock) == EOWNERDEAD) pthread_mutex_consistent(&team->lock);
}

static void drop_multicast(Multicast *multicast) {
    if (--multicast->refs) return;
    for (Multicast **place = &multicasts; *place; place = &(*place)->next) {
        if (*place != multicast) continue;
        *place = multicast->next;
        break;
    }
    lock_team(multicast->team);
    for (int b = 0; b < 2 * MOST_DEVICES; b++) {
        Binding *binding = &multicast->team->bindings[b];
        if (binding->process == getpid()) *binding = (Binding){0};
    }
    pthread_mutex_unlock(&multicast->team->lock);
    while (multicast->views) {
        View *view = multicast->views;
        multicast->views = view->next;
        Memory *memory = find(view->at);
        if (memory) discard(memory); /* not at a reset */
        munmap((void *)view->at, view->bytes);
        free(view);
    }
    munmap(multicast->team, sizeof(Team));
    close(multicast->file);
    free(multicast);
}

void free_multicast(Object *object) { drop_multicast((Multicast *)object); }

static void discard(Memory *memory) {
    check_guard(memory);
    int place = place_of(memory->at);
    memmove(memories + place, memories + place + 1, (size_t)(--count - place) * sizeof *memories);
    if (memory->backing) {
        void *at = (void *)memory->at;
        if (mmap(at, memory->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != at) abort();
        drop_backing(memory->backing);
    } else if (memory->multicast) {
        drop_multicast(memory->multicast);
    } else if (memory->place == ON_DEVICE) {
        memory->context->device->used -= memory->bytes;
    }
    drop_pool(memory->pool);
    free_shadows(memory->shadows);
    free(memory->raw);
    free(memory);
}

/* Memory that nobody freed; of all contexts if it is NULL, which ends the emulator's life and blames no one. */
void release_memory(Context *context) {
    for (int m = count - 1; m >= 0; m--) {
        if (m >= count) continue; /* views went with their multicast object */
        Memory *memory = memories[m];
        if (context && memory->context != context) continue;
        if (context && !memory->ended) counters.abandoned++;
        memory->ended = 1;
        if (!memory->busy) discard(memory);
    }
    while (!context && reservations) {
        Reservation *reservation = reservations;
        reservations = reservation->next;
        munmap((void *)reservation->at, reservation->bytes);
        free(reservation);
    }
}

int64_t count_memory(const char *what) {
    int64_t live = 0, bytes = 0, host = 0, registered = 0;
    for (int m = 0; m < count; m++) {
        Place place = memories[m]->place;
        live += place == ON_DEVICE;
        bytes += place == ON_DEVICE ? (int64_t)memories[m]->bytes : 0;
        host += place == ON_HOST;
        registered += place == REGISTERED;
    }
    if (!strcmp(what, "allocations")) return live;
    if (!strcmp(what, "bytes")) return bytes;
    if (!strcmp(what, "host allocations")) return host;
    if (!strcmp(what, "registrations")) return registered;
    if (!strcmp(what, "reservations")) {
        int64_t reserved = 0;
        for (const Reservation *reservation = reservations; reservation; reservation = reservation->next) reserved++;
        return reserved;
    }
    return -1;
}

/* Takes the lock off while it writes. */
static CUresult allocate(Context *context, Place place, uint64_t bytes, unsigned flags, CUdeviceptr *at) {
    Device *device = context->device;
    if (!bytes) return INVALID_VALUE;
    if (place == ON_DEVICE) {
        if (bytes > device->bytes - device->used) return OUT_OF_MEMORY;
        device->used += bytes;
    }
    Memory *memory = calloc(1, sizeof *memory);
    memory->raw_bytes = (bytes + 2 * GUARD_BYTES + 511) / 512 * 512;
    memory->raw = aligned_alloc(512, memory->raw_bytes);
    if (!memory->raw) {
        if (place == ON_DEVICE) device->used -= bytes;
        free(memory);
        return OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&emu.lock);
    memset(memory->raw, GUARD, GUARD_BYTES);
    memset(memory->raw + GUARD_BYTES, POISON, bytes);
    memset(memory->raw + GUARD_BYTES + bytes, GUARD, memory->raw_bytes - GUARD_BYTES - bytes);
    pthread_mutex_lock(&emu.lock);
    memory->at = *at = (CUdeviceptr)(memory->raw + GUARD_BYTES);
    memory->bytes = bytes;
    memory->context = context;
    memory->place = place;
    memory->flags = flags;
    memory->id = next_id++;
    add(memory);
    return OK;
}

/* As the driver does, it waits for the work of the context. */
static CUresult free_at(CUdeviceptr at, Place place) {
    if (!at) return OK;
    Memory *memory = find(at);
    if (!memory || memory->at != at || memory->place != place || memory->backing || memory->multicast) {
        problem("0x%llx is freed, but no such memory is allocated", (unsigned long long)at);
        return INVALID_VALUE;
    }
    Context *context = memory->context;
    uint64_t id = memory->id;
    if (emu.free_waits) {
        CUresult code = emu.coupled ? wait_for_coupled(context) : wait_for_context(context);
        if (code == LAUNCH_TIMEOUT) return code;
    }
    double since = now_us();
    for (;;) {
        memory = find(at);
        if (!memory || memory->id != id) return INVALID_VALUE; /* freed twice, by two threads */
        if (!memory->busy) break;
        if (!wait_a_while("cuMemFree", since)) return LAUNCH_TIMEOUT;
    }
    discard(memory);
    /* The memory is freed, but the driver reports the context's error. */
    return context->destroyed ? OK : usable(context);
}

/*
 * Returns whether work of the context may touch memory. cuCtxEnablePeerAccess opens what cuMemAlloc allocates; pools
 * and mappings have access of their own for each device.
 */
static int accessible(const Context *context, const Memory *memory) {
    if (memory->place != ON_DEVICE) return 1;
    if (memory->backing || memory->multicast) return memory->access[context->index] == READ_WRITE;
    if (memory->pool) return memory->pool->access[context->index] == READ_WRITE;
    return may_access(context, memory->context);
}

/* ---- Allocation ---- */

API CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) {
    ENTER();
    Context *context;
    TRY(current(&context));
    TRY(unsafe_call());
    CHECK(at, INVALID_VALUE);
    TRY(wait_for_coupled(context));
    LEAVE(allocate(context, ON_DEVICE, bytes, 0, at));
}

API CUresult cuMemFree_v2(CUdeviceptr at) {
    ENTER();
    Context *context;
    CUresult code = current(&context);
    if (code == INVALID_CONTEXT) LEAVE(code);
    TRY(unsafe_call());
    LEAVE(free_at(at, ON_DEVICE));
}

static CUresult allocate_host(void **pointer, size_t bytes, unsigned flags) {
    Context *context;
    CUresult code = current(&context);
    if (!code) code = unsafe_call();
    if (code) return code;
    if (!pointer || flags > 7) return INVALID_VALUE;
    CUdeviceptr at;
    code = allocate(context, ON_HOST, bytes, flags | HOST_MAPPED, &at);
    if (!code) *pointer = (void *)at;
    return code;
}

API CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) {
    ENTER();
    LEAVE(allocate_host(pointer, bytes, 0));
}

API CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    ENTER();
    LEAVE(allocate_host(pointer, bytes, flags));
}

API CUresult cuMemFreeHost(void *pointer) {
    ENTER();
    TRY(unsafe_call());
    LEAVE(free_at((CUdeviceptr)pointer, ON_HOST));
}

API CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
    ENTER();
    Context *context;
    TRY(current(&context));
    TRY(unsafe_call());
    CUdeviceptr at = (CUdeviceptr)pointer;
    CHECK(at && bytes && flags < 16, INVALID_VALUE);
    int place = place_of(at);
    CHECK(place == count || memories[place]->at >= at + bytes, HOST_MEMORY_ALREADY_REGISTERED);
    Memory *memory = calloc(1, sizeof *memory);
    *memory = (Memory){.at = at, .bytes = bytes, .context = context, .place = REGISTERED, .flags = flags};
    add(memory);
    LEAVE(OK);
}

API CUresult cuMemHostUnregister(void *pointer) {
    ENTER();
    TRY(unsafe_call());
    Memory *memory = find((CUdeviceptr)pointer);
    CHECK(memory && memory->at == (CUdeviceptr)pointer && memory->place == REGISTERED, HOST_MEMORY_NOT_REGISTERED);
    LEAVE(free_at(memory->at, REGISTERED));
}

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *at, void *pointer, unsigned flags) {
    ENTER();
    Memory *memory = find((CUdeviceptr)pointer);
    CHECK(at && !flags && memory && memory->place != ON_DEVICE && memory->flags & HOST_MAPPED, INVALID_VALUE);
    *at = (CUdeviceptr)pointer;
    LEAVE(OK);
}

API CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
    ENTER();
    Memory *memory = find((CUdeviceptr)pointer);
    CHECK(flags && memory && memory->place == ON_HOST, INVALID_VALUE);
    *flags = memory->flags;
    LEAVE(OK);
}

API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    ENTER();
    Context *context;
    TRY(current(&context));
    CHECK(free_bytes && total, INVALID_VALUE);
    *free_bytes = context->device->bytes - context->device->used;
    *total = context->device->bytes;
    LEAVE(OK);
}

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at) {
    ENTER();
    Memory *memory = find(at);
    CHECK(memory, NOT_FOUND);
    if (base) *base = memory->at;
    if (bytes) *bytes = memory->bytes;
    LEAVE(OK);
}

static const Reservation *reservation_of(CUdeviceptr at) {
    const Reservation *found = reservations;
    while (found && (at < found->at || at - found->at >= found->bytes)) found = found->next;
    return found;
}

static CUresult pointer_attribute(void *value, int which, CUdeviceptr at) {
    const Memory *memory = find(at);
    if (!value || which < 1 || which > 21) return INVALID_VALUE;
    if (!memory) return INVALID_VALUE;
    int on_device = memory->place == ON_DEVICE;
    const Reservation *reservation = memory->backing ? reservation_of(at) : NULL;
    Context *context;
    switch (which) {
        case 1: *(Handle *)value = memory->backing ? 0 : memory->context->object.handle; return OK;
        case 2: *(unsigned *)value = on_device ? 2 : 1; return OK;
        case 3: *(CUdeviceptr *)value = at; return OK;
        case 4:
            if (on_device) return INVALID_VALUE;
            *(CUdeviceptr *)value = at;
            return OK;
        case 6: *(int *)value = 0; return OK;
        case 7: *(uint64_t *)value = memory->id; return OK;
        case 8: *(int *)value = 0; return OK;
        case 9: *(int *)value = memory->context->index; return OK;
        case 10: *(int *)value = on_device && !memory->pool && !memory->backing; return OK;
        case 11: *(CUdeviceptr *)value = reservation ? reservation->at : memory->at; return OK;
        case 12: *(size_t *)value = reservation ? reservation->bytes : memory->bytes; return OK;
        case 13: *(int *)value = 1; return OK;
        case 14: *(uint64_t *)value = 0; return OK;
        case 16: {
            CUresult code = current(&context);
            if (!code) *(unsigned *)value = accessible(context, memory) ? READ_WRITE : 0;
            return code;
        }
        case 17: *(Handle *)value = memory->pool ? memory->pool->object.handle : 0; return OK;
        case 18: *(size_t *)value = memory->bytes; return OK;
        case 19: *(CUdeviceptr *)value = memory->at; return OK;
        default: return NOT_SUPPORTED;
    }
}

API CUresult cuPointerGetAttribute(void *value, int which, CUdeviceptr at) {
    ENTER();
    LEAVE(pointer_attribute(value, which, at));
}

API CUresult cuPointerGetAttributes(unsigned wanted, int *which, void **values, CUdeviceptr at) {
    ENTER();
    CHECK(wanted && which && values, INVALID_VALUE);
    for (unsigned i = 0; i < wanted; i++) {
        if (find(at)) TRY(pointer_attribute(values[i], which[i], at));
        else if (which[i] == 2) *(unsigned *)values[i] = 0;
        else if (which[i] == 1 || which[i] == 3 || which[i] == 4) *(CUdeviceptr *)values[i] = 0;
    }
    LEAVE(OK);
}

/* ---- Stream-ordered allocation ---- */

static Pool *default_pools[MOST_DEVICES];

static Pool *new_pool(int device) {
    Pool *pool = calloc(1, sizeof *pool);
    pool->device = device;
    pool->refs = 1;
    pool->access[device] = READ_WRITE;
    add_object(&pool->object, POOL);
    return pool;
}

static Pool *default_pool(int device) {
    if (!default_pools[device]) default_pools[device] = new_pool(device);
    return default_pools[device];
}

void free_pool(Object *object) {
    Pool *pool = (Pool *)object;
    if (default_pools[pool->device] == pool) default_pools[pool->device] = NULL;
    drop_pool(pool);
}

API CUresult cuMemPoolCreate(Handle *handle, const int *properties) {
    ENTER();
    CHECK(handle && properties, INVALID_VALUE);
    int device = properties[3]; /* type, handle types, type of the location, its number */
    CHECK(properties[0] == 1 && properties[2] == 1, INVALID_VALUE);
    CHECK(device >= 0 && device < emu.devices, INVALID_DEVICE);
    *handle = new_pool(device)->object.handle;
    LEAVE(OK);
}

API CUresult cuMemPoolDestroy(Handle handle) {
    ENTER();
    Pool *pool = find_object(handle, POOL);
    CHECK(pool && default_pools[pool->device] != pool, INVALID_VALUE);
    free_object(&pool->object);
    LEAVE(OK);
}

API CUresult cuDeviceGetDefaultMemPool(Handle *handle, CUdevice device) {
    ENTER();
    CHECK(device >= 0 && device < emu.devices, INVALID_DEVICE);
    CHECK(handle, INVALID_VALUE);
    *handle = default_pool(device)->object.handle;
    LEAVE(OK);
}

/* CUmemLocation and CUmemAccessDesc. */
typedef struct {
    int type, id;
} Location;

typedef struct {
    Location location;
    int flags;
} Access;

/* An owner that this process does not see, -1, counts as a peer of all. */
static CUresult check_access(const Access *access, size_t number, int owner) {
    if (!access || !number) return INVALID_VALUE;
    for (size_t a = 0; a < number; a++) {
        int device = access[a].location.id, flags = access[a].flags;
        if (access[a].location.type != 1 || (flags != 0 && flags != 1 && flags != READ_WRITE)) return INVALID_VALUE;
        if (device < 0 || device >= emu.devices) return INVALID_DEVICE;
        if (owner >= 0 && device != owner && emu.device[device].rank[owner] < 0) return INVALID_DEVICE;
    }
    return OK;
}

API CUresult cuMemPoolSetAccess(Handle handle, const Access *access, size_t number) {
    ENTER();
    Pool *pool = find_object(handle, POOL);
    CHECK(pool, INVALID_VALUE);
    TRY(check_access(access, number, pool->device));
    for (size_t a = 0; a < number; a++) CHECK(access[a].location.id != pool->device || access[a].flags, INVALID_VALUE);
    for (size_t a = 0; a < number; a++) pool->access[access[a].location.id] = (unsigned char)access[a].flags;
    LEAVE(OK);
}

API CUresult cuMemPoolGetAccess(int *flags, Handle handle, const Location *location) {
    ENTER();
    const Pool *pool = find_object(handle, POOL);
    CHECK(flags && pool && location && location->type == 1, INVALID_VALUE);
    CHECK(location->id >= 0 && location->id < emu.devices, INVALID_DEVICE);
    *flags = pool->access[location->id];
    LEAVE(OK);
}

API CUresult cuMemPoolTrimTo(Handle handle, size_t bytes) {
    ENTER();
    (void)bytes; /* what is freed is never kept */
    CHECK(find_object(handle, POOL), INVALID_VALUE);
    LEAVE(OK);
}

static CUresult allocate_in_order(CUdeviceptr *at, size_t bytes, Pool *pool, Handle stream_handle) {
    Stream *stream;
    CUresult code = stream_of(stream_handle, &stream);
    if (code) return code;
    if (!at) return INVALID_VALUE;
    if (stream->capture) return spoil_capture(stream->capture), CAPTURE_UNSUPPORTED;
    code = allocate(stream->context, ON_DEVICE, bytes, 0, at);
    if (code) return code;
    if (!pool) pool = default_pool(stream->context->index);
    pool->refs++;
    find(*at)->pool = pool;
    return OK;
}

API CUresult cuMemAllocAsync(CUdeviceptr *at, size_t bytes, Handle stream) {
    ENTER();
    LEAVE(allocate_in_order(at, bytes, NULL, stream));
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *at, size_t bytes, Handle handle, Handle stream) {
    ENTER();
    Pool *pool = find_object(handle, POOL);
    CHECK(pool, INVALID_VALUE);
    LEAVE(allocate_in_order(at, bytes, pool, stream));
}

/* Carried out by a thread of the pool. */
static void free_now(void *at) {
    pthread_mutex_lock(&emu.lock);
    Memory *memory = find((CUdeviceptr)at);
    if (!memory || memory->at != (CUdeviceptr)at) problem("%p is freed, but no such memory is allocated", at);
    else if (memory->busy) problem("%p is freed in stream order while other work touches it", at);
    else discard(memory);
    pthread_mutex_unlock(&emu.lock);
}

API CUresult cuMemFreeAsync(CUdeviceptr at, Handle stream_handle) {
    ENTER();
    Stream *stream;
    TRY(stream_of(stream_handle, &stream));
    Memory *memory = find(at);
    CHECK(memory && memory->at == at && memory->place == ON_DEVICE && !memory->backing, INVALID_VALUE);
    CHECK(!stream->capture, (spoil_capture(stream->capture), CAPTURE_UNSUPPORTED));
    LEAVE(submit(stream, &(Work){.kind = HOST, .host = {.own = free_now, .data = (void *)at}}, NULL));
}

/* ---- Virtual memory ---- */

/* CUmemAllocationProp. */
typedef struct {
    int type, handle_types;
    Location location;
    void *windows;
    uint8_t compression, rdma;
    uint16_t usage;
    uint8_t reserved[4];
} Properties;

/* A driver refuses whatever it does not know, so a caller must clear all that it does not set. */
static CUresult check_properties(const Properties *properties) {
    if (!properties || properties->type != 1 || properties->location.type != 1) return INVALID_VALUE;
    if (properties->handle_types & ~1 || properties->windows || properties->compression > 1 || properties->rdma > 1 || properties->usage > 1)
        return INVALID_VALUE;
    for (int i = 0; i < 4; i++)
        if (properties->reserved[i]) return INVALID_VALUE;
    return properties->location.id >= 0 && properties->location.id < emu.devices ? OK : INVALID_DEVICE;
}

API CUresult cuMemGetAllocationGranularity(size_t *bytes, const Properties *properties, int option) {
    ENTER();
    TRY(check_properties(properties));
    CHECK(bytes && (option == 0 || option == 1), INVALID_VALUE);
    *bytes = GRANULARITY;
    LEAVE(OK);
}

/* The end of a file of memory, by which other processes know it. */
typedef struct {
    uint64_t magic, bytes;
    char bus_id[32];
} Label;

static const uint64_t BACKING_MAGIC = 0x6563697069756d65, MULTICAST_MAGIC = 0x7463697069756d65;

/* Returns the descriptor of a file with a label behind its bytes, or -1. */
static int new_file(Label *label, const Device *device) {
    int file = memfd_create("emulated CUDA memory", MFD_CLOEXEC);
    if (device) snprintf(label->bus_id, sizeof label->bus_id, "%s", device->bus_id);
    if (file >= 0 && !ftruncate(file, (off_t)label->bytes)
        && pwrite(file, label, sizeof *label, (off_t)label->bytes) == sizeof *label) return file;
    if (file >= 0) close(file);
    return -1;
}

/* A further handle of memory, which has one number for all. */
static Handle handle_of(Backing *backing) {
    if (!backing->handles++) {
        backing->refs++;
        add_object(&backing->object, BACKING);
    }
    return backing->object.handle;
}

API CUresult cuMemCreate(Handle *handle, size_t bytes, const Properties *properties, unsigned long long flags) {
    ENTER();
    TRY(check_properties(properties));
    CHECK(handle && bytes && bytes % GRANULARITY == 0 && !flags, INVALID_VALUE);
    Device *device = &emu.device[properties->location.id];
    CHECK(bytes <= device->bytes - device->used, OUT_OF_MEMORY);
    int file = new_file(&(Label){.magic = BACKING_MAGIC, .bytes = bytes}, device);
    CHECK(file >= 0, OUT_OF_MEMORY);
    device->used += bytes;
    Backing *backing = calloc(1, sizeof *backing);
    *backing = (Backing){.device = properties->location.id, .file = file, .bytes = bytes,
                         .is_exportable = properties->handle_types & POSIX_DESCRIPTOR};
    *handle = handle_of(backing);
    LEAVE(OK);
}

/* Mappings keep the memory. */
API CUresult cuMemRelease(Handle handle) {
    ENTER();
    Backing *backing = find_object(handle, BACKING);
    Object *object = backing ? &backing->object : find_object(handle, MULTICAST);
    CHECK(object, INVALID_VALUE);
    if (!backing || !--backing->handles) free_object(object);
    LEAVE(OK);
}

API CUresult cuMemRetainAllocationHandle(Handle *handle, void *at) {
    ENTER();
    const Memory *memory = find((CUdeviceptr)at);
    CHECK(handle && memory && memory->backing, INVALID_VALUE);
    *handle = handle_of(memory->backing);
    LEAVE(OK);
}

/* The caller closes the descriptor. */
API CUresult cuMemExportToShareableHandle(int *descriptor, Handle handle, int type, unsigned long long flags) {
    ENTER();
    const Backing *backing = find_object(handle, BACKING);
    const Multicast *multicast = find_object(handle, MULTICAST);
    CHECK(descriptor && (backing || multicast) && type == POSIX_DESCRIPTOR && !flags, INVALID_VALUE);
    if (!(backing ? backing->is_exportable : multicast->is_exportable)) {
        problem("memory is exported that was made without a type of handles");
        LEAVE(INVALID_VALUE);
    }
    *descriptor = fcntl(backing ? backing->file : multicast->file, F_DUPFD_CLOEXEC, 0);
    LEAVE(*descriptor < 0 ? OUT_OF_MEMORY : OK);
}

static int imports;

int shares_memory(void) { return __atomic_load_n(&imports, __ATOMIC_RELAXED); }

/* The device with a bus id, or -1 if this process does not see it. */
static int device_at(const char *bus_id) {
    for (int d = 0; d < emu.devices; d++) {
        if (!strncasecmp(emu.device[d].bus_id, bus_id, sizeof emu.device[d].bus_id)) return d;
    }
    return -1;
}

/* Maps what all processes know of a multicast object; takes the descriptor. */
static CUresult new_multicast(Handle *handle, int file, int is_exportable) {
    Team *team = mmap(NULL, sizeof *team, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (team == MAP_FAILED) {
        close(file);
        return OUT_OF_MEMORY;
    }
    Multicast *multicast = calloc(1, sizeof *multicast);
    *multicast = (Multicast){.team = team, .file = file, .is_exportable = is_exportable, .refs = 1, .next = multicasts};
    multicasts = multicast;
    add_object(&multicast->object, MULTICAST);
    *handle = multicast->object.handle;
    return OK;
}

/* The descriptor stays the caller's. */
API CUresult cuMemImportFromShareableHandle(Handle *handle, void *descriptor, int type) {
    ENTER();
    struct stat status;
    Label label = {0};
    CHECK(handle && type == POSIX_DESCRIPTOR && !fstat((int)(intptr_t)descriptor, &status), INVALID_VALUE);
    ssize_t got = pread((int)(intptr_t)descriptor, &label, sizeof label, status.st_size - (off_t)sizeof label);
    CHECK(got == sizeof label && (label.magic == BACKING_MAGIC || label.magic == MULTICAST_MAGIC), INVALID_VALUE);
    int device = device_at(label.bus_id), file = fcntl((int)(intptr_t)descriptor, F_DUPFD_CLOEXEC, 0);
    CHECK(file >= 0, OUT_OF_MEMORY);
    if (label.magic == MULTICAST_MAGIC) LEAVE(new_multicast(handle, file, 1));
    Backing *backing = calloc(1, sizeof *backing);
    *backing = (Backing){.device = device < 0 ? 0 : device, .file = file, .bytes = label.bytes, .is_imported = 1,
                         .is_unseen = device < 0};
    __atomic_add_fetch(&imports, 1, __ATOMIC_RELAXED);
    *handle = handle_of(backing);
    LEAVE(OK);
}

API CUresult cuMemAddressReserve(CUdeviceptr *at, size_t bytes, size_t alignment, CUdeviceptr wish, unsigned long long flags) {
    ENTER();
    (void)wish;
    CHECK(at && bytes && bytes % GRANULARITY == 0 && alignment <= GRANULARITY && !flags, INVALID_VALUE);
    char *raw = mmap(NULL, bytes + GRANULARITY, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(raw != MAP_FAILED, OUT_OF_MEMORY);
    size_t before = (GRANULARITY - (uintptr_t)raw % GRANULARITY) % GRANULARITY;
    if (before) munmap(raw, before);
    munmap(raw + before + bytes, GRANULARITY - before);
    Reservation *reservation = calloc(1, sizeof *reservation);
    *reservation = (Reservation){(CUdeviceptr)(raw + before), bytes, reservations};
    reservations = reservation;
    *at = reservation->at;
    LEAVE(OK);
}

static int is_mapped_within(CUdeviceptr at, uint64_t bytes) {
    int place = place_of(at);
    return place < count && memories[place]->at < at + bytes;
}

API CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes) {
    ENTER();
    CHECK(!is_mapped_within(at, bytes), INVALID_VALUE);
    for (Reservation **place = &reservations; *place; place = &(*place)->next) {
        Reservation *found = *place;
        if (found->at != at || found->bytes != bytes) continue;
        *place = found->next;
        munmap((void *)at, bytes);
        free(found);
        LEAVE(OK);
    }
    LEAVE(INVALID_VALUE);
}

/* No context owns a mapping. */
static Context *nobody_on(int device) {
    static Context nobody[MOST_DEVICES];
    nobody[device] = (Context){.device = &emu.device[device], .index = device};
    return &nobody[device];
}

static int has_device(const Team *team, int device) {
    for (int d = 0; d < team->added; d++) {
        if (!strcmp(team->has[d], emu.device[device].bus_id)) return 1;
    }
    return 0;
}

/* Nothing lies at the addresses themselves. */
static CUresult map_multicast(CUdeviceptr at, uint64_t bytes, uint64_t offset, Multicast *multicast) {
    const Reservation *reservation = reservation_of(at);
    const Team *team = multicast->team;
    if (!reservation || at % GRANULARITY || offset || bytes != team->bytes || team->added < team->devices
        || bytes > reservation->bytes - (at - reservation->at) || is_mapped_within(at, bytes)) return INVALID_VALUE;
    int first = 0;
    while (first < emu.devices && !has_device(team, first)) first++;
    if (first == emu.devices) return INVALID_VALUE;
    Memory *memory = calloc(1, sizeof *memory);
    *memory = (Memory){.at = at, .bytes = bytes, .context = nobody_on(first), .place = ON_DEVICE, .id = next_id++,
                       .multicast = multicast};
    multicast->refs++;
    add(memory);
    return OK;
}

API CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, Handle handle, unsigned long long flags) {
    ENTER();
    Backing *backing = find_object(handle, BACKING);
    const Reservation *reservation = reservation_of(at);
    if (!backing && find_object(handle, MULTICAST)) LEAVE(map_multicast(at, bytes, offset, find_object(handle, MULTICAST)));
    CHECK(backing && reservation && bytes && !flags, INVALID_VALUE);
    CHECK(at % GRANULARITY == 0 && bytes % GRANULARITY == 0 && offset % GRANULARITY == 0, INVALID_VALUE);
    CHECK(offset <= backing->bytes && bytes <= backing->bytes - offset, INVALID_VALUE);
    CHECK(bytes <= reservation->bytes - (at - reservation->at) && !is_mapped_within(at, bytes), INVALID_VALUE);
    void *mapped = mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, backing->file, (off_t)offset);
    CHECK(mapped == (void *)at, OUT_OF_MEMORY);
    Memory *memory = calloc(1, sizeof *memory);
    *memory = (Memory){.at = at, .bytes = bytes, .context = nobody_on(backing->device), .place = ON_DEVICE,
                       .id = next_id++, .backing = backing, .backing_offset = offset};
    backing->refs++;
    add(memory);
    LEAVE(OK);
}

/* Returns whether the range consists of whole mappings without gaps. */
static int is_of_mappings(CUdeviceptr at, uint64_t bytes) {
    CUdeviceptr end = at + bytes;
    while (at < end) {
        const Memory *memory = find(at);
        if (!memory || !(memory->backing || memory->multicast) || memory->at != at || memory->bytes > end - at) return 0;
        at += memory->bytes;
    }
    return bytes > 0;
}

static int is_bound(CUdeviceptr at) {
    for (const Multicast *multicast = multicasts; multicast; multicast = multicast->next) {
        for (int b = 0; b < 2 * MOST_DEVICES; b++) {
            const Binding *binding = &multicast->team->bindings[b];
            if (binding->process == getpid() && binding->at == at) return 1;
        }
    }
    return 0;
}

API CUresult cuMemUnmap(CUdeviceptr at, size_t bytes) {
    ENTER();
    CHECK(is_of_mappings(at, bytes), INVALID_VALUE);
    for (CUdeviceptr end = at + bytes; at < end;) {
        Memory *memory = find(at);
        if (is_bound(at)) problem("0x%llx is unmapped while it is bound to a multicast object", (unsigned long long)at);
        at += memory->bytes;
        memory->ended = 1;
        if (!memory->busy) discard(memory);
        else problem("0x%llx is unmapped while work touches it", (unsigned long long)memory->at);
    }
    LEAVE(OK);
}

API CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const Access *access, size_t number) {
    ENTER();
    CHECK(is_of_mappings(at, bytes), INVALID_VALUE);
    for (CUdeviceptr place = at; place < at + bytes; place += find(place)->bytes) {
        const Memory *memory = find(place);
        TRY(check_access(access, number, memory->backing && memory->backing->is_unseen ? -1 : memory->context->index));
        const Multicast *multicast = memory->multicast;
        for (size_t a = 0; multicast && a < number; a++) CHECK(has_device(multicast->team, access[a].location.id), 401 /* ILLEGAL_STATE */);
    }
    for (CUdeviceptr place = at; place < at + bytes; place += find(place)->bytes) {
        for (size_t a = 0; a < number; a++) find(place)->access[access[a].location.id] = (unsigned char)access[a].flags;
    }
    LEAVE(OK);
}

API CUresult cuMemGetAccess(unsigned long long *flags, const Location *location, CUdeviceptr at) {
    ENTER();
    const Memory *memory = find(at);
    CHECK(flags && location && location->type == 1 && memory && memory->backing, INVALID_VALUE);
    CHECK(location->id >= 0 && location->id < emu.devices, INVALID_DEVICE);
    *flags = memory->access[location->id];
    LEAVE(OK);
}

/* ---- Multicast objects ---- */

/* CUmulticastObjectProp. */
typedef struct {
    unsigned devices;
    size_t bytes;
    unsigned long long handle_types, flags;
} MulticastProperties;

static CUresult check_multicast(const MulticastProperties *properties) {
    int most = 0;
    for (int d = 0; d < emu.devices; d++) most += emu.multicast && emu.device[d].major >= 9;
    if (!most) return NOT_SUPPORTED;
    /* A process may see some of the devices alone. */
    if (properties && properties->handle_types == POSIX_DESCRIPTOR) most = MOST_DEVICES;
    if (!properties || properties->devices < 1 || properties->devices > (unsigned)most || !properties->bytes
        || properties->bytes % GRANULARITY || properties->handle_types & ~POSIX_DESCRIPTOR || properties->flags) return INVALID_VALUE;
    return OK;
}

API CUresult cuMulticastCreate(Handle *handle, const MulticastProperties *properties) {
    ENTER();
    TRY(check_multicast(properties));
    CHECK(handle, INVALID_VALUE);
    CHECK(emu.multicast == 1, SYSTEM_NOT_READY);
    int file = new_file(&(Label){.magic = MULTICAST_MAGIC, .bytes = sizeof(Team)}, NULL);
    CHECK(file >= 0, OUT_OF_MEMORY);
    TRY(new_multicast(handle, file, properties->handle_types == POSIX_DESCRIPTOR));
    Team *team = multicasts->team;
    team->devices = (int)properties->devices;
    team->bytes = properties->bytes;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&team->lock, &attributes);
    LEAVE(OK);
}

static CUresult add_device(Team *team, int device) {
    if (has_device(team, device) || team->added == team->devices) return INVALID_VALUE;
    snprintf(team->has[team->added++], sizeof team->has[0], "%s", emu.device[device].bus_id);
    return OK;
}

API CUresult cuMulticastAddDevice(Handle handle, CUdevice device) {
    ENTER();
    Multicast *multicast = find_object(handle, MULTICAST);
    CHECK(multicast, INVALID_VALUE);
    CHECK(device >= 0 && device < emu.devices, INVALID_DEVICE);
    CHECK(emu.device[device].major >= 9, NOT_SUPPORTED);
    lock_team(multicast->team);
    CUresult code = add_device(multicast->team, device);
    pthread_mutex_unlock(&multicast->team->lock);
    LEAVE(code);
}

/* The driver waits until all devices have been added, which would hide that a caller does not. */
static CUresult bind(Team *team, uint64_t offset, const Memory *memory, uint64_t bytes) {
    int device = memory->context->index;
    if (!has_device(team, device) || team->added < team->devices) return INVALID_VALUE;
    if (offset > team->bytes || bytes > team->bytes - offset) return INVALID_VALUE;
    Binding *place = NULL;
    for (int b = 0; b < 2 * MOST_DEVICES; b++) {
        Binding *other = &team->bindings[b];
        if (!other->bytes) place = other;
        else if (!strcmp(other->bus_id, emu.device[device].bus_id) && other->offset < offset + bytes
                 && offset < other->offset + other->bytes) return INVALID_VALUE;
    }
    if (!place) return OUT_OF_MEMORY;
    *place = (Binding){.offset = offset, .bytes = bytes, .id = ++team->next_id, .process = getpid(),
                       .file = memory->backing->file, .file_offset = memory->backing_offset, .at = memory->at};
    snprintf(place->bus_id, sizeof place->bus_id, "%s", emu.device[device].bus_id);
    return OK;
}

API CUresult cuMulticastBindAddr(Handle handle, size_t offset, CUdeviceptr at, size_t bytes, unsigned long long flags) {
    ENTER();
    Multicast *multicast = find_object(handle, MULTICAST);
    const Memory *memory = find(at);
    CHECK(multicast && memory && memory->backing && !memory->backing->is_imported && memory->at == at && !flags, INVALID_VALUE);
    CHECK(bytes && bytes % GRANULARITY == 0 && offset % GRANULARITY == 0 && bytes <= memory->bytes, INVALID_VALUE);
    /* An object of several processes takes memory alone that could be exported, too. */
    CHECK(memory->backing->is_exportable || !multicast->is_exportable, INVALID_VALUE);
    lock_team(multicast->team);
    CUresult code = bind(multicast->team, offset, memory, bytes);
    pthread_mutex_unlock(&multicast->team->lock);
    LEAVE(code);
}

static CUresult unbind(Team *team, int device, uint64_t offset, uint64_t bytes) {
    for (int b = 0; b < 2 * MOST_DEVICES; b++) {
        Binding *found = &team->bindings[b];
        if (found->process != getpid() || strcmp(found->bus_id, emu.device[device].bus_id) || found->offset != offset
            || found->bytes != bytes) continue;
        *found = (Binding){0};
        return OK;
    }
    return INVALID_VALUE;
}

API CUresult cuMulticastUnbind(Handle handle, CUdevice device, size_t offset, size_t bytes) {
    ENTER();
    Multicast *multicast = find_object(handle, MULTICAST);
    CHECK(multicast && bytes, INVALID_VALUE);
    CHECK(device >= 0 && device < emu.devices, INVALID_DEVICE);
    lock_team(multicast->team);
    CUresult code = unbind(multicast->team, device, offset, bytes);
    pthread_mutex_unlock(&multicast->team->lock);
    LEAVE(code);
}

/* Maps memory of another process once, which hardware need not; returns 0 if that has ended. */
static CUdeviceptr view_of(Multicast *multicast, const Binding *binding) {
    for (const View *view = multicast->views; view; view = view->next) {
        if (view->binding == binding->id) return view->at;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", binding->process, binding->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return 0;
    void *at = mmap(NULL, binding->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)binding->file_offset);
    int device = device_at(binding->bus_id);
    if (at == MAP_FAILED) {
        close(file);
        return 0;
    }
    Backing *backing = calloc(1, sizeof *backing);
    *backing = (Backing){.device = device < 0 ? 0 : device, .file = file, .bytes = binding->bytes, .refs = 1, .is_imported = 1};
    Memory *memory = calloc(1, sizeof *memory);
    *memory = (Memory){.at = (CUdeviceptr)at, .bytes = binding->bytes, .context = nobody_on(backing->device), .place = ON_DEVICE,
                       .id = next_id++, .backing = backing};
    memset(memory->access, READ_WRITE, sizeof memory->access);
    add(memory);
    View *view = calloc(1, sizeof *view);
    *view = (View){binding->id, memory->at, memory->bytes, multicast->views};
    multicast->views = view;
    return view->at;
}

int multicast_places(const Context *context, CUdeviceptr at, uint64_t bytes, CUdeviceptr *places, const char **why) {
    pthread_mutex_lock(&emu.lock);
    const Memory *memory = find(at);
    Multicast *multicast = memory ? memory->multicast : NULL;
    int number = 0;
    *why = NULL;
    if (!multicast) *why = "is no multicast address";
    else if (bytes > memory->bytes - (at - memory->at)) *why = "leaves its multicast object";
    else if (!accessible(context, memory)) *why = "is of a multicast object without access for this device";
    if (multicast) lock_team(multicast->team);
    for (int d = 0; !*why && d < multicast->team->added; d++) {
        uint64_t offset = at - memory->at;
        const Binding *binding = multicast->team->bindings, *end = binding + 2 * MOST_DEVICES;
        while (binding < end && (strcmp(binding->bus_id, multicast->team->has[d]) || offset - binding->offset >= binding->bytes)) binding++;
        CUdeviceptr place = binding == end ? 0 : binding->process == getpid() ? binding->at : view_of(multicast, binding);
        if (place) places[number++] = place + (offset - binding->offset);
        else *why = "is not bound to memory of all devices";
    }
    if (multicast) pthread_mutex_unlock(&multicast->team->lock);
    counters.multicast_accesses += !*why;
    pthread_mutex_unlock(&emu.lock);
    return *why ? 0 : number;
}

/* ---- What work may touch ---- */

static uint64_t extent(uint64_t rows, uint64_t pitch, uint64_t bytes) { return rows ? (rows - 1) * pitch + bytes : 0; }

/* The bytes from the address on that are of the memory which holds it. */
static uint64_t part(const Memory *memory, CUdeviceptr at, uint64_t bytes) {
    uint64_t left = memory->bytes - (at - memory->at);
    return bytes < left ? bytes : left;
}

/* Returns whether a range lies in one allocation, or in mappings without a gap. */
static int is_whole(CUdeviceptr at, uint64_t bytes) {
    for (const Memory *memory = find(at); memory; memory = find(at)) {
        uint64_t here = part(memory, at, bytes);
        if (here == bytes) return 1;
        if (!memory->backing) return 0;
        at += here;
        bytes -= here;
    }
    return 0;
}

/* Returns whether work of the context may touch a whole range. */
static int is_open(const Context *context, CUdeviceptr at, uint64_t bytes) {
    while (bytes) {
        const Memory *memory = find(at);
        uint64_t here = part(memory, at, bytes);
        if (!accessible(context, memory)) return 0;
        at += here;
        bytes -= here;
    }
    return 1;
}

/* Work begins or ends to touch a range. */
static void touch(CUdeviceptr at, uint64_t bytes, int by) {
    while (bytes) {
        Memory *memory = find(at);
        uint64_t here = part(memory, at, bytes);
        memory->busy += by;
        at += here;
        bytes -= here;
        if (!memory->busy && memory->ended) discard(memory);
    }
}

int is_signal(const Copy *copy) {
    const Memory *target = find(copy->target);
    return copy->bytes == 4 && copy->rows == 1 && copy->source_known && target && target->place == ON_HOST;
}

void copy_devices(const Copy *copy, int *from, int *to) {
    const Memory *source = find(copy->source), *target = find(copy->target);
    *from = source && source->place == ON_DEVICE ? source->context->index : -1;
    *to = target && target->place == ON_DEVICE ? target->context->index : -1;
}

CUresult check_copy(Copy *copy, const Context *context) {
    const Memory *source = find(copy->source), *target = find(copy->target);
    uint64_t read = extent(copy->rows, copy->source_pitch, copy->bytes);
    uint64_t written = extent(copy->rows, copy->target_pitch, copy->bytes);
    if ((source && !is_whole(copy->source, read)) || (target && !is_whole(copy->target, written))) {
        problem("a copy of %llu bytes leaves its allocation", (unsigned long long)copy->bytes);
        return INVALID_VALUE;
    }
    copy->source_known = source != NULL;
    copy->target_known = target != NULL;
    copy->staged = 0;
    const Memory *ends[] = {source, target};
    for (int e = 0; e < 2; e++) {
        const Memory *end = ends[e];
        if (!end || (!end->pool && !end->backing)) continue;
        if (is_open(context, e ? copy->target : copy->source, e ? written : read)) continue;
        problem("a copy by device %d, which has no access to the pool or mapping at 0x%llx", context->index,
                (unsigned long long)end->at);
        return INVALID_VALUE;
    }
    if (!source || !target || source->place != ON_DEVICE || target->place != ON_DEVICE) return OK;
    const Context *from = source->context, *to = target->context;
    if (from->index == to->index) return OK;
    int access = context->index == from->index ? accessible(context, target)
               : context->index == to->index ? accessible(context, source)
               : accessible(from, target) || accessible(to, source);
    if (access) return OK;
    copy->staged = 1;
    if (!emu.strict) return OK;
    problem("a copy from device %d to %d by device %d, which has not enabled peer access", from->index, to->index,
            context->index);
    return PEER_ACCESS_NOT_ENABLED;
}

CUresult check_fill(const Fill *fill, const Context *context) {
    const Memory *target = find(fill->target);
    uint64_t bytes = fill->width * fill->element_bytes;
    if (fill->target % fill->element_bytes) return INVALID_VALUE;
    bytes = extent(fill->rows, fill->pitch, bytes);
    if (!target || !is_whole(fill->target, bytes) || !is_open(context, fill->target, bytes)) return INVALID_VALUE;
    return OK;
}

CUresult pin(const Range *ranges, int number, const char *what) {
    pthread_mutex_lock(&emu.lock);
    int pinned = 0;
    CUresult code = OK;
    for (; pinned < number && !code; pinned++) {
        const Range *range = &ranges[pinned];
        if (!range->bytes) continue;
        Memory *memory = find(range->at);
        const char *why = NULL;
        if (range->at % range->align) why = "is misaligned";
        else if (!memory) why = "is not allocated";
        else if (memory->multicast) why = "is a multicast address";
        else if (!is_whole(range->at, range->bytes)) why = "leaves its allocation";
        if (why) {
            problem("%s: range %d, %llu bytes at 0x%llx, %s", what, pinned, (unsigned long long)range->bytes,
                    (unsigned long long)range->at, why);
            code = range->at % range->align ? MISALIGNED_ADDRESS : ILLEGAL_ADDRESS;
            break;
        }
        touch(range->at, range->bytes, 1);
    }
    pthread_mutex_unlock(&emu.lock);
    if (code) unpin(ranges, pinned);
    return code;
}

void unpin(const Range *ranges, int number) {
    pthread_mutex_lock(&emu.lock);
    for (int r = 0; r < number; r++) {
        touch(ranges[r].at, ranges[r].bytes, -1);
    }
    pthread_mutex_unlock(&emu.lock);
}

Shadows **shadow_place(CUdeviceptr at, uint64_t *offset, uint64_t *bytes) {
    Memory *memory = find(at);
    if (!memory) return NULL;
    *offset = at - memory->at;
    *bytes = memory->bytes;
    return &memory->shadows;
}

int is_of_host(CUdeviceptr at) {
    const Memory *memory = find(at);
    return memory && memory->place != ON_DEVICE;
}

void forget_shadows(void) {
    for (int m = 0; m < count; m++) {
        free_shadows(memories[m]->shadows);
        memories[m]->shadows = NULL;
    }
}

/* Returns whether an unallocated address is close behind an allocation. */
static int is_behind_allocation(CUdeviceptr at) {
    int place = place_of(at);
    return place && at - (memories[place - 1]->at + memories[place - 1]->bytes) < GUARD_BYTES;
}

CUresult open_window(const Context *context, CUdeviceptr at, uint64_t bytes, Window *window, const char **why) {
    pthread_mutex_lock(&emu.lock);
    const Memory *memory = find(at);
    *why = NULL;
    if (!memory) *why = is_behind_allocation(at) ? "leaves its allocation" : "is not allocated";
    else if (!is_whole(at, bytes)) *why = "leaves its allocation";
    else if (memory->multicast) *why = "is a multicast address";
    else if (!is_open(context, at, bytes)) *why = "is on a device whose peer access was not enabled";
    else if (memory->place != ON_DEVICE && !(memory->flags & HOST_MAPPED)) *why = "is not mapped";
    if (!*why) {
        *window = (Window){memory->at, memory->bytes, memory->place == ON_DEVICE ? memory->context->index : context->index};
        /* Mappings that follow each other are one range. */
        while (memory->backing) {
            memory = find(window->at + window->bytes);
            if (!memory || !memory->backing || !accessible(context, memory)) break;
            window->bytes += memory->bytes;
        }
        touch(window->at, window->bytes, 1);
    }
    pthread_mutex_unlock(&emu.lock);
    return *why ? ILLEGAL_ADDRESS : OK;
}

void close_window(const Window *window) {
    pthread_mutex_lock(&emu.lock);
    touch(window->at, window->bytes, -1);
    pthread_mutex_unlock(&emu.lock);
}

/* ---- Copies ---- */

enum { MOST_PIECE_BYTES = 256 };

/* One piece of what the seed interleaves; UNFINISHED while there are more. */
static CUresult copy_piece(Op *op, const unsigned char *source, unsigned char *target) {
    const Copy *copy = &op->work.copy;
    uint64_t row = op->progress / copy->bytes, at = op->progress % copy->bytes;
    uint64_t bytes = 1 + chance(MOST_PIECE_BYTES);
    if (bytes > copy->bytes - at) bytes = copy->bytes - at;
    uint64_t from = row * copy->source_pitch + at, to = row * copy->target_pitch + at;
    if (copy->source_known) note_range(op, copy->source + from, bytes, 0);
    if (copy->target_known) note_range(op, copy->target + to, bytes, 1);
    memmove(target + to, source + from, bytes);
    op->progress += bytes;
    return op->progress < copy->bytes * copy->rows ? UNFINISHED : OK;
}

CUresult carry_out_copy(Op *op) {
    const Copy *copy = &op->work.copy;
    Range ranges[2] = {
        {copy->target, copy->target_known ? extent(copy->rows, copy->target_pitch, copy->bytes) : 0, 1},
        {copy->source, copy->source_known ? extent(copy->rows, copy->source_pitch, copy->bytes) : 0, 1}};
    CUresult code = pin(ranges, 2, "a copy");
    if (code) return code;
    const unsigned char *source = copy->snapshot ? copy->snapshot : (const unsigned char *)copy->source;
    unsigned char *target = (unsigned char *)copy->target;
    if (emu.interleave && copy->bytes && copy->rows) {
        code = copy_piece(op, source, target);
        if (code == UNFINISHED) {
            unpin(ranges, 2);
            return code;
        }
    } else {
        for (uint64_t row = 0; row < copy->rows; row++) {
            memmove(target + row * copy->target_pitch, source + row * copy->source_pitch, copy->bytes);
        }
    }
    int from, to;
    pthread_mutex_lock(&emu.lock);
    copy_devices(copy, &from, &to);
    counters.copies++;
    counters.copied_bytes += (int64_t)(copy->bytes * copy->rows);
    int peers = from >= 0 && to >= 0 && from != to;
    counters.peer_copies += peers;
    counters.staged_copies += copy->staged;
    int corrupt = peers && !copy->staged && emu.device[from].corrupt[to];
    pthread_mutex_unlock(&emu.lock);
    if (corrupt && copy->bytes && copy->rows) target[copy->bytes / 2] ^= 0x10;
    unpin(ranges, 2);
    return OK;
}

CUresult carry_out_fill(Op *op) {
    const Fill *fill = &op->work.fill;
    uint64_t bytes = fill->width * fill->element_bytes;
    Range range = {fill->target, extent(fill->rows, fill->pitch, bytes), 1};
    CUresult code = pin(&range, 1, "a fill");
    if (code) return code;
    for (uint64_t row = 0; row < fill->rows; row++) {
        unsigned char *target = (unsigned char *)fill->target + row * fill->pitch;
        if (emu.interleave) note_range(op, (CUdeviceptr)target, bytes, 1);
        for (uint64_t i = 0; i < fill->width; i++) {
            memcpy(target + i * fill->element_bytes, &fill->value, fill->element_bytes);
        }
    }
    pthread_mutex_lock(&emu.lock);
    counters.fills++;
    pthread_mutex_unlock(&emu.lock);
    unpin(&range, 1);
    return OK;
}

#define STAGED_BYTES ((size_t)16 << 20)

typedef enum { ANY, DEVICE_MEMORY, HOST_MEMORY } Side;

static int is_side(CUdeviceptr at, Side side) {
    const Memory *memory = find(at);
    /* Pinned memory has the same address for devices. */
    return side == ANY || (side == DEVICE_MEMORY ? memory != NULL : !memory || memory->place != ON_DEVICE);
}

static CUresult copy_in(Stream *stream, Copy copy, int wait) {
    if (!copy.bytes || !copy.rows) return OK;
    if (!copy.target || !copy.source) return INVALID_VALUE;
    CUresult code = check_copy(&copy, stream->context);
    if (code) return code;
    if (!copy.source_known && !stream->capture) {
        /* The driver has read pageable memory when the call returns. */
        uint64_t bytes = extent(copy.rows, copy.source_pitch, copy.bytes);
        copy.snapshot = malloc(bytes);
        memcpy(copy.snapshot, (const void *)copy.source, bytes);
    }
    Op *op = NULL;
    code = submit(stream, &(Work){.kind = COPY, .copy = copy}, &op);
    if (code) {
        free(copy.snapshot);
        return code;
    }
    if (op && !copy.late && (wait || !copy.target_known)) {
        code = wait_for(op);
        if (!code) code = usable(stream->context);
    }
    drop(op);
    return code;
}

static CUresult copy_row(CUdeviceptr target, Side target_side, CUdeviceptr source, Side source_side, size_t bytes,
                         Handle handle, int wait) {
    Stream *stream;
    CUresult code = stream_of(handle, &stream);
    if (code) return code;
    if (bytes && (!is_side(target, target_side) || !is_side(source, source_side))) return INVALID_VALUE;
    /* As the driver does, a call that waits stages memory in pieces: pageable memory is never there twice. */
    size_t most = wait ? STAGED_BYTES : bytes;
    size_t done = 0;
    do {
        size_t piece = bytes - done < most ? bytes - done : most;
        Copy copy = {.target = target + done, .source = source + done, .bytes = piece, .rows = 1};
        done += piece;
        /* From pageable memory: the last piece may still be on its way, in the default stream, when the call returns. */
        copy.late = wait && done == bytes && find(target) && !find(source)
                    && (emu.pageable_late || (emu.shuffle && random_number() % 2));
        code = copy_in(stream, copy, wait);
    } while (!code && done < bytes);
    return code;
}

API CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t bytes) {
    ENTER();
    LEAVE(copy_row(target, DEVICE_MEMORY, (CUdeviceptr)source, HOST_MEMORY, bytes, 0, 1));
}

API CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t bytes) {
    ENTER();
    LEAVE(copy_row((CUdeviceptr)target, HOST_MEMORY, source, DEVICE_MEMORY, bytes, 0, 1));
}

/* Between devices the host does not wait. */
API CUresult cuMemcpyDtoD_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
    ENTER();
    LEAVE(copy_row(target, DEVICE_MEMORY, source, DEVICE_MEMORY, bytes, 0, 0));
}

API CUresult cuMemcpy(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
    ENTER();
    LEAVE(copy_row(target, ANY, source, ANY, bytes, 0, 1));
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t bytes, Handle stream) {
    ENTER();
    LEAVE(copy_row(target, DEVICE_MEMORY, (CUdeviceptr)source, HOST_MEMORY, bytes, stream, 0));
}

API CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes, Handle stream) {
    ENTER();
    LEAVE(copy_row((CUdeviceptr)target, HOST_MEMORY, source, DEVICE_MEMORY, bytes, stream, 0));
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes, Handle stream) {
    ENTER();
    LEAVE(copy_row(target, DEVICE_MEMORY, source, DEVICE_MEMORY, bytes, stream, 0));
}

API CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, Handle stream) {
    ENTER();
    LEAVE(copy_row(target, ANY, source, ANY, bytes, stream, 0));
}

static CUresult copy_peer(CUdeviceptr target, Handle target_context, CUdeviceptr source, Handle source_context,
                          size_t bytes, Handle stream) {
    Context *to, *from;
    CUresult code = context_of(target_context, &to);
    if (!code) code = context_of(source_context, &from);
    if (code) return code;
    const Memory *read = find(source), *written = find(target);
    if (bytes && (!read || !written || (read->place == ON_DEVICE && read->context->index != from->index)
                  || (written->place == ON_DEVICE && written->context->index != to->index))) return INVALID_VALUE;
    return copy_row(target, DEVICE_MEMORY, source, DEVICE_MEMORY, bytes, stream, 0);
}

API CUresult cuMemcpyPeer(CUdeviceptr target, Handle to, CUdeviceptr source, Handle from, size_t bytes) {
    ENTER();
    LEAVE(copy_peer(target, to, source, from, bytes, 0));
}

API CUresult cuMemcpyPeerAsync(CUdeviceptr target, Handle to, CUdeviceptr source, Handle from, size_t bytes,
                               Handle stream) {
    ENTER();
    LEAVE(copy_peer(target, to, source, from, bytes, stream));
}

/* ---- Copies of rectangles ---- */

typedef struct {
    size_t x, y;
    int type;
    CUdeviceptr host, device;
    uintptr_t array;
    size_t pitch;
} Corner2D;

typedef struct {
    Corner2D source, target;
    size_t width, height;
} Copy2D;

_Static_assert(sizeof(Copy2D) == 128, "CUDA_MEMCPY2D");

enum { TYPE_HOST = 1, TYPE_DEVICE = 2, TYPE_UNIFIED = 4 };

static CUresult corner(int type, CUdeviceptr host, CUdeviceptr device, CUdeviceptr *at) {
    *at = type == TYPE_HOST ? host : device;
    if (type == TYPE_HOST) return is_side(host, HOST_MEMORY) ? OK : INVALID_VALUE;
    if (type == TYPE_DEVICE) return is_side(device, DEVICE_MEMORY) ? OK : INVALID_VALUE;
    return type == TYPE_UNIFIED ? OK : NOT_SUPPORTED;
}

static CUresult copy_2d(const Copy2D *rectangle, Handle handle, int wait) {
    Stream *stream;
    CUresult code = stream_of(handle, &stream);
    if (code) return code;
    Copy copy = {.bytes = rectangle->width, .rows = rectangle->height, .target_pitch = rectangle->target.pitch,
                 .source_pitch = rectangle->source.pitch};
    const Corner2D *from = &rectangle->source, *to = &rectangle->target;
    code = corner(from->type, from->host, from->device, &copy.source);
    if (!code) code = corner(to->type, to->host, to->device, &copy.target);
    if (code) return code;
    if (copy.rows > 1 && (copy.target_pitch < copy.bytes || copy.source_pitch < copy.bytes)) return INVALID_VALUE;
    copy.source += from->y * from->pitch + from->x;
    copy.target += to->y * to->pitch + to->x;
    return copy_in(stream, copy, wait);
}

API CUresult cuMemcpy2D_v2(const Copy2D *rectangle) {
    ENTER();
    CHECK(rectangle, INVALID_VALUE);
    LEAVE(copy_2d(rectangle, 0, 1));
}

API CUresult cuMemcpy2DUnaligned_v2(const Copy2D *rectangle) {
    ENTER();
    CHECK(rectangle, INVALID_VALUE);
    LEAVE(copy_2d(rectangle, 0, 1));
}

API CUresult cuMemcpy2DAsync_v2(const Copy2D *rectangle, Handle stream) {
    ENTER();
    CHECK(rectangle, INVALID_VALUE);
    LEAVE(copy_2d(rectangle, stream, 0));
}

/* A box of one layer, as nodes of graphs have it. */
CUresult copy_of_box(const Box *box, const Context *context, Copy *copy) {
    *copy = (Copy){.bytes = box->width, .rows = box->height, .target_pitch = box->target.pitch,
                   .source_pitch = box->source.pitch};
    if (box->depth != 1 || box->source.z || box->target.z) return NOT_SUPPORTED;
    CUresult code = corner(box->source.type, box->source.host, box->source.device, &copy->source);
    if (!code) code = corner(box->target.type, box->target.host, box->target.device, &copy->target);
    if (code) return code;
    if (copy->rows > 1 && (copy->target_pitch < copy->bytes || copy->source_pitch < copy->bytes)) return INVALID_VALUE;
    copy->source += box->source.y * box->source.pitch + box->source.x;
    copy->target += box->target.y * box->target.pitch + box->target.x;
    return check_copy(copy, context);
}

/* ---- Fills ---- */

static CUresult fill(CUdeviceptr target, uint64_t pitch, unsigned value, unsigned element_bytes, uint64_t width,
                     uint64_t rows, Handle handle) {
    Stream *stream;
    CUresult code = stream_of(handle, &stream);
    if (code || !width || !rows) return code;
    Fill fill = {target, pitch, width, rows, value, element_bytes};
    code = check_fill(&fill, stream->context);
    return code ? code : submit(stream, &(Work){.kind = FILL, .fill = fill}, NULL);
}

#define FILLS(bits, type) \
    API CUresult cuMemsetD##bits##_v2(CUdeviceptr target, type value, size_t number) { \
        ENTER(); \
        LEAVE(fill(target, 0, value, sizeof value, number, 1, 0)); \
    } \
    API CUresult cuMemsetD##bits##Async(CUdeviceptr target, type value, size_t number, Handle stream) { \
        ENTER(); \
        LEAVE(fill(target, 0, value, sizeof value, number, 1, stream)); \
    } \
    API CUresult cuMemsetD2D##bits##_v2(CUdeviceptr target, size_t pitch, type value, size_t width, size_t rows) { \
        ENTER(); \
        LEAVE(fill(target, pitch, value, sizeof value, width, rows, 0)); \
    } \
    API CUresult cuMemsetD2D##bits##Async(CUdeviceptr target, size_t pitch, type value, size_t width, size_t rows, \
                                          Handle stream) { \
        ENTER(); \
        LEAVE(fill(target, pitch, value, sizeof value, width, rows, stream)); \
    }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
