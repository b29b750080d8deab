/* Lends Python's lock while its owner sleeps. A thread of a program in Python may hold it while it waits for a lock of a
   library, whose owner waits for Python's lock in a call of the driver: neither would go on. Such a thread gets a signal;
   its handler gives Python's lock away until what the thread waits for has changed, as if the library had done so
   (docs/decisions/0131-lending-pythons-lock.md). Part of library.c.in. */

#if PY_VERSION_HEX >= 0x030d0000
#define VISAKIT_CURRENT PyThreadState_GetUnchecked
#else
#define VISAKIT_CURRENT _PyThreadState_UncheckedGet
#endif

/* Registers of a thread that a signal has stopped. A wait that is to begin anew stands before its call of the system. */
#if defined(__x86_64__)
#define VISAKIT_STACK(given) ((uintptr_t)((ucontext_t *)(given))->uc_mcontext.gregs[REG_RSP])
#define VISAKIT_PLACE(given) ((uintptr_t)((ucontext_t *)(given))->uc_mcontext.gregs[REG_RIP])
#define VISAKIT_CALL 2
#elif defined(__aarch64__)
#define VISAKIT_STACK(given) ((uintptr_t)((ucontext_t *)(given))->uc_mcontext.sp)
#define VISAKIT_PLACE(given) ((uintptr_t)((ucontext_t *)(given))->uc_mcontext.pc)
#define VISAKIT_CALL 4
#endif

enum {
    VISAKIT_TICK = 20,      /* milliseconds between two looks while calls are under way, and that a thread sleeps */
    VISAKIT_IDLE = 200,     /* the same while none are */
    VISAKIT_LONGEST = 640,  /* that a thread sleeps before it is asked once more */
    VISAKIT_SLEEPERS = 256, /* threads that are looked at */
    VISAKIT_LINE = 256      /* bytes of what the system says about a thread */
};

static int visakit_wanted = 0, visakit_had = 0;  /* how often the second thread was to take the lock, and has */

/* A thread that sleeps in FUTEX_WAIT, as the system describes it. */
struct visakit_sleeper { int thread; uintptr_t word, value, stack, place; char said[VISAKIT_LINE]; };
static struct visakit_sleeper visakit_asked;
static int visakit_addressee = 0;  /* the thread that is asked, negative while its handler reads what; then 0 */

static void visakit_nap(long milliseconds)
{
    struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

/* The handler. If the thread is still where it was seen, it waits in a library, which could give Python's lock away itself
   there; Python's functions wait with the lock held for the C library's memory alone, which counts as no such wait. */
static void visakit_lend(int number, siginfo_t *info, void *given)
{
    int kept = errno, thread = syscall(SYS_gettid), is_asked = VISAKIT_TAKE(visakit_addressee, thread, -thread);
    volatile uint32_t *word = (uint32_t *)visakit_asked.word;
    uint32_t value = visakit_asked.value;
    uintptr_t stack = VISAKIT_STACK(given), place = VISAKIT_PLACE(given), seen = visakit_asked.place;
    is_asked = is_asked && stack == visakit_asked.stack && (place == seen || place + VISAKIT_CALL == seen);
    VISAKIT_TAKE(visakit_addressee, -thread, 0);
    PyThreadState *own = PyGILState_GetThisThreadState();
    (void)number, (void)info;
    if (is_asked && own != NULL && own == VISAKIT_CURRENT()) {
        struct visakit_call call = { 0 };
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call.cancelling);
        pthread_cleanup_push(visakit_park, &call);
        PyEval_SaveThread();
        while (*word == value && visakit_is_open())
            visakit_nap(1);
        PyEval_RestoreThread(own);
        pthread_cleanup_pop(0);
        pthread_setcancelstate(call.cancelling, NULL);
    }
    errno = kept;
}

/* What the system says about a thread's wait, and how long it has run. */
static int visakit_describe(int thread, struct visakit_sleeper *sleeper)
{
    static const char *const files[] = { "syscall", "schedstat" };
    size_t length = 0;
    memset(sleeper, 0, sizeof *sleeper);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, files[i]);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t found = file < 0 ? -1 : read(file, sleeper->said + length, sizeof sleeper->said - 1 - length);
        length += found > 0 ? found : 0;
        if (file >= 0)
            close(file);
    }
    long call;
    unsigned long operation, rest;
    int fields = sscanf(sleeper->said, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &call, &sleeper->word, &operation,
                        &sleeper->value, &rest, &rest, &rest, &sleeper->stack, &sleeper->place);
    operation = fields == 9 ? operation & FUTEX_CMD_MASK : 0;
    sleeper->thread = thread;
    return fields == 9 && call == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

/* Whether a thread waits for a lock of the C library itself: it may be about to change an object of Python's. */
static int visakit_is_internal(uintptr_t place)
{
    void *wait = dlvsym(RTLD_DEFAULT, "__lll_lock_wait_private", "GLIBC_PRIVATE");
    const ElfW(Sym) *symbol = NULL;
    Dl_info library;
    if (wait == NULL || !dladdr1(wait, &library, (void **)&symbol, RTLD_DL_SYMENT) || symbol == NULL)
        return 1;
    return place - (uintptr_t)wait <= symbol->st_size;
}

/* A signal that the program does not use. Without a handler SIGURG does nothing, and debuggers let it pass. */
static int visakit_signal(void)
{
    struct sigaction wanted = { .sa_sigaction = visakit_lend, .sa_flags = SA_SIGINFO | SA_RESTART }, there;
    for (int number = SIGURG; number <= SIGRTMAX; number = number == SIGURG ? SIGRTMIN : number + 1) {
        if (sigaction(number, NULL, &there) != 0)
            continue;
        if ((there.sa_flags & SA_SIGINFO) && there.sa_sigaction == visakit_lend)
            return number;
        if (!(there.sa_flags & SA_SIGINFO) && there.sa_handler == SIG_DFL && sigaction(number, &wanted, NULL) == 0)
            return number;
    }
    return 0;
}

static int visakit_is_had(void)
{
    return VISAKIT_GET(visakit_had) == visakit_wanted || !visakit_is_open();
}

/* Asks a thread that sleeps, and waits until its handler has read what it is asked. */
static void visakit_ask(const struct visakit_sleeper *sleeper, int number)
{
    for (int late; (late = VISAKIT_GET(visakit_addressee)) != 0;)
        if (late < 0 || !VISAKIT_TAKE(visakit_addressee, late, 0))  /* An earlier question that nobody reads ends. */
            visakit_nap(1);
    visakit_asked = *sleeper;
    VISAKIT_SET(visakit_addressee, sleeper->thread);
    if (syscall(SYS_tgkill, getpid(), sleeper->thread, number) == 0)
        for (int tries = 0; tries < 20 && VISAKIT_GET(visakit_addressee) == sleeper->thread; tries++)
            visakit_nap(1);
}

/* Asks the threads that sleep for some milliseconds in one wait: the one with Python's lock lends it. */
static void visakit_ask_all(long milliseconds)
{
    static struct visakit_sleeper before[VISAKIT_SLEEPERS], now;
    DIR *threads = opendir("/proc/self/task");
    int count = 0, number = visakit_signal();
    struct dirent *entry;
    while (number && threads != NULL && count < VISAKIT_SLEEPERS && (entry = readdir(threads)) != NULL)
        count += visakit_describe(atoi(entry->d_name), &before[count]) && !visakit_is_internal(before[count].place);
    if (threads != NULL)
        closedir(threads);
    visakit_nap(milliseconds);
    for (int i = 0; i < count && !visakit_is_had(); i++)
        if (visakit_describe(before[i].thread, &now) && strcmp(now.said, before[i].said) == 0)
            visakit_ask(&now, number);
}

/* Takes Python's lock whenever it is told to. */
static void *visakit_try(void *nothing)
{
    struct visakit_call call = { 0 };
    pthread_cleanup_push(visakit_park, &call);
    while (visakit_is_open()) {
        int wanted = VISAKIT_GET(visakit_wanted);
        if (wanted == visakit_had)
            syscall(SYS_futex, &visakit_wanted, FUTEX_WAIT_PRIVATE, wanted, NULL, NULL, 0);
        else if (visakit_enter(&call, -1)) {
            visakit_leave(&call);
            VISAKIT_SET(visakit_had, wanted);
        }
    }
    pthread_cleanup_pop(0);
    return nothing;
}

/* Whether somebody of the driver may want Python's lock: a call, or the thread of a queue that has commands. */
static int visakit_has_work(void)
{
    uintptr_t busy = VISAKIT_GET(visakit_cells[0]);
    return VISAKIT_GET(visakit_under_way) > 0 || (busy && VISAKIT_GET(*(uint32_t *)busy));
}

/* Sees to it that the driver gets Python's lock: if no call ends for a while, the other thread tries to take it. */
static void *visakit_watch(void *nothing)
{
    int has_work = 1, over = 0;
    while (visakit_is_open()) {
        int seen = over;
        visakit_nap(has_work ? VISAKIT_TICK : VISAKIT_IDLE);
        has_work = visakit_has_work();
        over = VISAKIT_GET(visakit_over);
        if (over != seen || !has_work)
            continue;
        VISAKIT_ADD(visakit_wanted, 1);
        syscall(SYS_futex, &visakit_wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        for (int passed = 0; passed < VISAKIT_TICK && !visakit_is_had(); passed++)
            visakit_nap(1);
        for (int sleep = VISAKIT_TICK; !visakit_is_had(); sleep = sleep < VISAKIT_LONGEST ? 2 * sleep : sleep)
            visakit_ask_all(sleep);  /* An owner that computes may take long: it is asked less and less. */
        over = VISAKIT_GET(visakit_over);
    }
    return nothing;
}

/* The first call of a program in Python begins the two threads. The program's signals are not for them. */
static void visakit_begin_watch(void)
{
    static void *(*const functions[])(void *) = { visakit_try, visakit_watch };
    if (!VISAKIT_TAKE(visakit_watched, 0, 1))
        return;
    sigset_t all, kept;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, functions[i], NULL) == 0)
            pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
}
