// Takes the place of pthread_create, which then fails with EAGAIN for some calls, as at the system's limit.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long calls;
static long first;
static long behind;

// Refuses count calls, behind as many as given, from now on.
void refused_threads_set(long after, long count) {
    pthread_mutex_lock(&lock);
    calls = 0;
    first = after;
    behind = after + count;
    pthread_mutex_unlock(&lock);
}

// Returns the number of calls since then.
long refused_threads_calls(void) {
    pthread_mutex_lock(&lock);
    long counted = calls;
    pthread_mutex_unlock(&lock);
    return counted;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    pthread_mutex_lock(&lock);
    long call = calls++;
    int refused = call >= first && call < behind;
    pthread_mutex_unlock(&lock);
    if (refused) {
        return EAGAIN;
    }
    return ((create *) dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, run, argument);
}
