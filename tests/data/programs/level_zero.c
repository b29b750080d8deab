/* A program of Level Zero: finds the device, builds a module, launches a kernel in an immediate and in a recorded list,
   compares, and makes a fault if it is asked to. The arguments: SPIR-V or native binary, its format, "fault" or "run". */
#include <level_zero/ze_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) \
    do { \
        ze_result_t result = (call); \
        if (result != ZE_RESULT_SUCCESS) { \
            printf("%s: %#x\n", #call, result); \
            return 1; \
        } \
    } while (0)

int main(int count, char **words)
{
    if (count < 4)
        return 2;
    FILE *file = fopen(words[1], "rb");
    static uint8_t binary[1 << 20];
    size_t size = fread(binary, 1, sizeof binary, file);
    fclose(file);
    CHECK(zeInit(0));
    uint32_t drivers = 0, devices = 1;
    CHECK(zeDriverGet(&drivers, NULL));
    ze_driver_handle_t driver;
    drivers = 1;
    CHECK(zeDriverGet(&drivers, &driver));
    ze_device_handle_t device;
    CHECK(zeDeviceGet(driver, &devices, &device));
    ze_device_properties_t properties = { ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    CHECK(zeDeviceGetProperties(device, &properties));
    printf("%s\n", properties.name);
    ze_context_desc_t context_desc = { ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    ze_context_handle_t context;
    CHECK(zeContextCreate(driver, &context_desc, &context));

    ze_module_desc_t module_desc = { ZE_STRUCTURE_TYPE_MODULE_DESC };
    module_desc.format = atoi(words[2]) ? ZE_MODULE_FORMAT_NATIVE : ZE_MODULE_FORMAT_IL_SPIRV;
    module_desc.inputSize = size;
    module_desc.pInputModule = binary;
    module_desc.pBuildFlags = "";
    ze_module_handle_t module;
    ze_module_build_log_handle_t log;
    ze_result_t built = zeModuleCreate(context, device, &module_desc, &module, &log);
    size_t length = 0;
    CHECK(zeModuleBuildLogGetString(log, &length, NULL));
    char *text = malloc(length);
    CHECK(zeModuleBuildLogGetString(log, &length, text));
    CHECK(zeModuleBuildLogDestroy(log));
    if (built) {
        printf("built: %#x\n%s\n", built, text);
        return 1;
    }
    free(text);
    ze_kernel_desc_t kernel_desc = { ZE_STRUCTURE_TYPE_KERNEL_DESC };
    kernel_desc.pKernelName = "scale";
    ze_kernel_handle_t kernel;
    CHECK(zeKernelCreate(module, &kernel_desc, &kernel));

    enum { N = 1000 };
    ze_device_mem_alloc_desc_t device_desc = { ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
    ze_host_mem_alloc_desc_t host_desc = { ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    float *data, *copy, wanted[N], factor = 3;
    CHECK(zeMemAllocShared(context, &device_desc, &host_desc, sizeof wanted, 64, device, (void **)&data));
    CHECK(zeMemAllocDevice(context, &device_desc, sizeof wanted, 64, device, (void **)&copy));
    for (int i = 0; i < N; i++) {
        data[i] = i;
        wanted[i] = 9.0f * i;
    }
    ze_event_pool_desc_t pool_desc = { ZE_STRUCTURE_TYPE_EVENT_POOL_DESC };
    pool_desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
    pool_desc.count = 2;
    ze_event_pool_handle_t pool;
    CHECK(zeEventPoolCreate(context, &pool_desc, 0, NULL, &pool));
    ze_event_desc_t event_desc = { ZE_STRUCTURE_TYPE_EVENT_DESC };
    ze_event_handle_t event, gate;
    CHECK(zeEventCreate(pool, &event_desc, &event));
    event_desc.index = 1;
    CHECK(zeEventCreate(pool, &event_desc, &gate));

    uint32_t x, y, z, items = strcmp(words[3], "fault") ? N : 4 * N;
    CHECK(zeKernelSuggestGroupSize(kernel, N, 1, 1, &x, &y, &z));
    CHECK(zeKernelSetGroupSize(kernel, x, y, z));
    CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof data, &data));
    CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof factor, &factor));
    ze_group_count_t groups = { items / x, 1, 1 };
    ze_command_queue_desc_t queue_desc = { ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
    ze_command_list_handle_t now, list;
    CHECK(zeCommandListCreateImmediate(context, device, &queue_desc, &now));
    CHECK(zeCommandListAppendLaunchKernel(now, kernel, &groups, event, 1, &gate));
    if (zeEventQueryStatus(event) != ZE_RESULT_NOT_READY || zeEventHostSynchronize(event, 1000) != ZE_RESULT_NOT_READY)
        return 3;
    CHECK(zeEventHostSignal(gate));
    ze_result_t waited = zeEventHostSynchronize(event, UINT64_MAX);
    if (waited != ZE_RESULT_SUCCESS) {
        printf("the event: %#x\n", waited);
        return 4;
    }
    ze_kernel_timestamp_result_t times;
    CHECK(zeEventQueryKernelTimestamp(event, &times));
    if (times.global.kernelEnd < times.global.kernelStart || !times.global.kernelStart)
        return 5;

    ze_command_queue_handle_t queue;
    CHECK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
    ze_command_list_desc_t list_desc = { ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
    CHECK(zeCommandListCreate(context, device, &list_desc, &list));
    float got[N];
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, copy, data, sizeof wanted, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, got, copy, sizeof wanted, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    ze_fence_desc_t fence_desc = { ZE_STRUCTURE_TYPE_FENCE_DESC };
    ze_fence_handle_t fence;
    CHECK(zeFenceCreate(queue, &fence_desc, &fence));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    CHECK(zeFenceHostSynchronize(fence, UINT64_MAX));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    printf(memcmp(got, wanted, sizeof wanted) ? "different\n" : "equal\n");

    CHECK(zeFenceDestroy(fence));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandListDestroy(now));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeEventDestroy(event));
    CHECK(zeEventDestroy(gate));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(context, data));
    CHECK(zeMemFree(context, copy));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    CHECK(zeContextDestroy(context));
    return 0;
}
