/* Random calls of a driver's functions, without a loader: its library is opened here. OPENCL or LEVEL_ZERO is defined.
   The words: the library, a program binary with the kernel "saxpy", a seed, and the numbers of calls and threads.
   Standard input has the number of functions, a line for each: its name, a letter for what it gives ("i" a status, "m" a
   status, and an object in memory, "o" an object, "x" neither), one for each parameter ("A" to "Z" that object of
   the first ones, mostly, "h" any handle, "p" pointer, "n" count, "t" time, "u" 32 bits, "s" 64 bits, "-" for none), then the
   numbers that programs write. Each status is printed. */
#ifdef OPENCL
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl_ext.h>
#else
#include <level_zero/ze_api.h>
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1 << 20, PLACES = 4, FUNCTIONS = 512, NUMBERS = 8192, HANDLES = 65536, PARAMETERS = 20 };
typedef uint64_t function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                          uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static struct { char name[96], gives[2], parameters[PARAMETERS]; function *call; } functions[FUNCTIONS];
static const uint64_t sizes[] = { 0, 1, 4, 64, 4096, UINT32_MAX, 1ull << 32, 1ull << 63, -64ull, -1ull };
static uint64_t numbers[NUMBERS], handles[HANDLES];
static int function_count, number_count, calls, seed;
static _Atomic int handle_count;
static uint8_t binary[1 << 20];

static void keep(uint64_t handle)
{
    int at = handle_count++;
    if (at < HANDLES)
        handles[at] = handle;
    else
        handle_count = HANDLES;
}

#define CALL(name) ((__typeof__(name) *)dlsym(library, #name))

#ifdef OPENCL
static int begin(void *library, size_t size)
{
    const uint8_t *bytes = binary;
    const size_t items = 64;
    cl_platform_id platform;
    cl_device_id device;
    cl_event event;
    if (((clIcdGetPlatformIDsKHR_fn)dlsym(library, "clIcdGetPlatformIDsKHR"))(1, &platform, NULL)
        || CALL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    cl_context context = CALL(clCreateContext)(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = CALL(clCreateCommandQueueWithProperties)(context, device, NULL, NULL);
    cl_program program = CALL(clCreateProgramWithBinary)(context, 1, &device, &size, &bytes, NULL, NULL);
    cl_mem buffer = CALL(clCreateBuffer)(context, CL_MEM_READ_WRITE, 256, NULL, NULL);
    if (CALL(clBuildProgram)(program, 0, NULL, NULL, NULL, NULL))
        return 1;
    cl_kernel kernel = CALL(clCreateKernel)(program, "saxpy", NULL);
    const float a = 1;
    const cl_uint n = 64;
    if (CALL(clSetKernelArg)(kernel, 0, sizeof buffer, &buffer) || CALL(clSetKernelArg)(kernel, 1, sizeof buffer, &buffer)
        || CALL(clSetKernelArg)(kernel, 2, sizeof a, &a) || CALL(clSetKernelArg)(kernel, 3, sizeof n, &n)
        || CALL(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &event))
        return 1;
    void *made[] = { platform, device, context, queue, program, buffer, kernel, event };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        keep((uintptr_t)made[i]);
    return 0;
}
#else
static int begin(void *library, size_t size)
{
    uint32_t one = 1;
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_command_list_handle_t now, list;
    ze_command_queue_handle_t queue;
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;
    ze_module_handle_t module;
    ze_kernel_handle_t kernel;
    ze_context_desc_t context_desc = { ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    ze_command_queue_desc_t queue_desc = { ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
    ze_command_list_desc_t list_desc = { ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
    ze_event_pool_desc_t pool_desc = { ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 8 };
    ze_event_desc_t event_desc = { ZE_STRUCTURE_TYPE_EVENT_DESC };
    ze_module_desc_t module_desc = { ZE_STRUCTURE_TYPE_MODULE_DESC, NULL, ZE_MODULE_FORMAT_NATIVE, size, binary };
    ze_kernel_desc_t kernel_desc = { ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, "saxpy" };
    if (CALL(zeInit)(0) || CALL(zeDriverGet)(&one, &driver) || CALL(zeDeviceGet)(driver, &one, &device)
        || CALL(zeContextCreate)(driver, &context_desc, &context)
        || CALL(zeCommandListCreateImmediate)(context, device, &queue_desc, &now)
        || CALL(zeCommandListCreate)(context, device, &list_desc, &list)
        || CALL(zeCommandQueueCreate)(context, device, &queue_desc, &queue)
        || CALL(zeEventPoolCreate)(context, &pool_desc, 0, NULL, &pool) || CALL(zeEventCreate)(pool, &event_desc, &event)
        || CALL(zeModuleCreate)(context, device, &module_desc, &module, NULL)
        || CALL(zeKernelCreate)(module, &kernel_desc, &kernel))
        return 1;
    void *made[] = { driver, device, context, now, queue, pool, event, module, kernel, list };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        keep((uintptr_t)made[i]);
    return 0;
}
#endif

static uint64_t below(uint64_t *state, uint64_t end)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state % end;
}

static uint64_t a_handle(uint64_t *state)
{
    return handles[below(state, handle_count < HANDLES ? handle_count : HANDLES)];
}

static uint64_t argument(uint64_t *state, char kind, uint64_t **places)
{
    static const uint64_t counts[] = { 0, 1, 2, 8 };
    uint64_t which = below(state, HANDLES), chosen = numbers[which % number_count];
    if (kind >= 'A' && kind <= 'Z') {
        if (which % 4)
            return handles[kind - 'A'];
        kind = 'h';
    }
    switch (kind) {
    case 'h': return which % 8 == 0 ? 0 : which % 8 == 1 ? 12345 : a_handle(state);
    case 'p': return which % 5 ? (uintptr_t)places[which % 5 - 1] : 0;
    case 't': return which % 2 * 1000;
    case 'n': return counts[which % 4];
    }
    if (below(state, 2))
        chosen = sizes[which % (sizeof sizes / sizeof *sizes)];
    return kind == 'u' ? (uint32_t)chosen : chosen;
}

static void fill(uint64_t *state, uint64_t **places)
{
    for (int p = 0; p < PLACES; p++) {
        uint64_t first[] = { 0, below(state, 64), numbers[below(state, number_count)], a_handle(state) };
        for (int i = 2; i < 12; i++)
            places[p][i] = argument(state, 'p', places);
        places[p][0] = first[below(state, 4)];
        places[p][1] = below(state, 2) ? argument(state, 'p', places) : 0;
    }
}

static void *attack(void *number)
{
    uint64_t state = 0x9E3779B97F4A7C15ull * (1 + 10 * seed + (uintptr_t)number), *places[PLACES], a[PARAMETERS];
    for (int p = 0; p < PLACES; p++)
        places[p] = calloc(WORDS, sizeof **places);
    for (int i = 0; i < calls; i++) {
        fill(&state, places);
        int which = below(&state, function_count), last = 0;
        memset(a, 0, sizeof a);
        for (const char *kind = functions[which].parameters; *kind && *kind != '-'; kind++)
            a[last++] = argument(&state, *kind, places);
        uint64_t result = functions[which].call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
                                                a[11], a[12], a[13], a[14], a[15]);
        char gives = *functions[which].gives;
        if (gives == 'o' && result)
            keep(result);
        if (gives == 'm' && (uint32_t)result == 0 && last && a[last - 1])
            keep(*(uint64_t *)a[last - 1]);
        if (gives == 'i' || gives == 'm')
            printf("%s %d\n", functions[which].name, (int)result);
    }
    return NULL;
}

int main(int count, char **words)
{
    if (count < 6)
        return 2;
    FILE *file = fopen(words[2], "rb");
    size_t size = fread(binary, 1, sizeof binary, file);
    fclose(file);
    seed = atoi(words[3]), calls = atoi(words[4]);
    void *library = dlopen(words[1], RTLD_NOW);
    if (!library || scanf("%d", &function_count) != 1 || function_count > FUNCTIONS)
        return 3;
    for (int i = 0; i < function_count; i++)
        if (scanf("%95s %1s %19s", functions[i].name, functions[i].gives, functions[i].parameters) != 3
            || !(functions[i].call = (function *)dlsym(library, functions[i].name)))
            return 4;
    while (number_count < NUMBERS && scanf("%lu", &numbers[number_count]) == 1)
        number_count++;
    if (begin(library, size))
        return 5;
    int threads = atoi(words[5]);
    pthread_t made[8];
    for (intptr_t i = 0; i < threads && i < 8; i++)
        pthread_create(&made[i], NULL, attack, (void *)i);
    for (int i = 0; i < threads && i < 8; i++)
        pthread_join(made[i], NULL);
    return 0;
}
