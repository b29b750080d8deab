/* A program of Level Zero that calls the driver when it ends, forks, or has a thread that waits for ever. The words say
   what it does: "fork", "thread". */
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static ze_context_handle_t context;
static ze_event_handle_t event;
static void *memory;

static void ends(void)
{
    ze_memory_allocation_properties_t properties = { ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES };
    ze_result_t asked = zeMemGetAllocProperties(context, memory, &properties, NULL);
    printf("asked %s, freed %#x, destroyed %#x\n", asked ? "in vain" : "well", zeMemFree(context, memory),
           zeEventDestroy(event));
    fflush(stdout);
}

static void *waits(void *unused)
{
    zeEventHostSynchronize(event, UINT64_MAX);
    return unused;
}

int main(int count, char **words)
{
    uint32_t one = 1;
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_desc_t context_desc = { ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    ze_host_mem_alloc_desc_t host_desc = { ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    ze_event_pool_desc_t pool_desc = { ZE_STRUCTURE_TYPE_EVENT_POOL_DESC };
    ze_event_pool_handle_t pool;
    ze_event_desc_t event_desc = { ZE_STRUCTURE_TYPE_EVENT_DESC };
    pool_desc.count = 1;
    if (zeInit(0) || zeDriverGet(&one, &driver) || zeDeviceGet(driver, &one, &device)
        || zeContextCreate(driver, &context_desc, &context) || zeMemAllocHost(context, &host_desc, 64, 64, &memory)
        || zeEventPoolCreate(context, &pool_desc, 0, NULL, &pool) || zeEventCreate(pool, &event_desc, &event))
        return 1;
    atexit(ends);
    for (int i = 1; i < count; i++) {
        pthread_t thread;
        if (strcmp(words[i], "thread") == 0)
            pthread_create(&thread, NULL, waits, NULL);
        if (strcmp(words[i], "fork") == 0) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                memset(memory, 1, 64);
                exit(zeEventHostSignal(event) || zeEventQueryStatus(event) ? 6 : 5);
            }
            int status = 0;
            waitpid(child, &status, 0);
            printf("child %d\n", WEXITSTATUS(status));
        }
    }
    return 7;
}
