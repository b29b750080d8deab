/* For a program in Python that calls this with Python's lock held, and does not let go of it. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef intptr_t function(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);
struct call { function *function; intptr_t given[9], result; };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int is_held, is_over;

/* Has the locks while it calls up to a call without a function. */
void *call_with_locks(void *given)
{
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&lock);
    is_held = 1;
    usleep(50000);
    for (struct call *c = given; c->function != NULL; c++) {
        intptr_t *a = c->given;
        c->result = (int32_t)c->function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
    }
    pthread_rwlock_unlock(&lock);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&guard);
    is_over = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&guard);
    return NULL;
}

/* Two callbacks of an event: one takes its time. */
void slow(void *event, int32_t status, void *data)
{
    usleep(300000);
}

void told(void *event, int32_t status, void *data)
{
    *(volatile int *)data = 1;
}

/* Waits for the second one without a call of the driver. */
intptr_t wait_until_told(volatile int *data)
{
    while (!*data)
        usleep(1000);
    return 0;
}

void wait_for_lock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

/* A thread calls while this one waits for it: for a lock that it has, for a condition, or for its end. */
void call_and_wait(struct call *calls, const char *way)
{
    pthread_t thread;
    is_held = is_over = 0;
    pthread_create(&thread, NULL, call_with_locks, calls);
    while (!is_held)
        usleep(1000);
    if (strcmp(way, "mutex") == 0) {
        wait_for_lock();
    } else if (strcmp(way, "readers") == 0) {
        pthread_rwlock_rdlock(&lock);
        pthread_rwlock_unlock(&lock);
    } else if (strcmp(way, "condition") == 0) {
        pthread_mutex_lock(&guard);
        while (!is_over)
            pthread_cond_wait(&changed, &guard);
        pthread_mutex_unlock(&guard);
    }
    pthread_join(thread, NULL);
}
