/* What a launch of a warm small kernel in an immediate list costs, and what launches leave behind: the processor time
   of each, the growth of the resident memory and of the open files. The words: SPIR-V with the kernel "scale", and a
   number of launches. */
#include <dirent.h>
#include <level_zero/ze_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { N = 64 };

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static long resident(void)
{
    long all = 0, found = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &all, &found) != 2)
        exit(3);
    fclose(file);
    return found * sysconf(_SC_PAGESIZE) / 1024;
}

static int files(void)
{
    int found = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        found++;
    closedir(folder);
    return found;
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    static uint8_t binary[1 << 20];
    FILE *file = fopen(words[1], "rb");
    size_t size = fread(binary, 1, sizeof binary, file);
    fclose(file);
    uint32_t one = 1;
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_module_handle_t module;
    ze_kernel_handle_t kernel;
    ze_command_list_handle_t list;
    float *data, factor = 1;
    ze_context_desc_t context_desc = { ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    ze_module_desc_t module_desc = { ZE_STRUCTURE_TYPE_MODULE_DESC };
    ze_kernel_desc_t kernel_desc = { ZE_STRUCTURE_TYPE_KERNEL_DESC };
    ze_device_mem_alloc_desc_t device_desc = { ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
    ze_host_mem_alloc_desc_t host_desc = { ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    ze_command_queue_desc_t queue_desc = { ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
    queue_desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    module_desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    module_desc.inputSize = size;
    module_desc.pInputModule = binary;
    kernel_desc.pKernelName = "scale";
    ze_group_count_t groups = { N / 16, 1, 1 };
    if (zeInit(0) || zeDriverGet(&one, &driver) || zeDeviceGet(driver, &one, &device)
        || zeContextCreate(driver, &context_desc, &context)
        || zeModuleCreate(context, device, &module_desc, &module, NULL)
        || zeKernelCreate(module, &kernel_desc, &kernel) || zeKernelSetGroupSize(kernel, 16, 1, 1)
        || zeMemAllocShared(context, &device_desc, &host_desc, N * sizeof *data, 64, device, (void **)&data)
        || zeKernelSetArgumentValue(kernel, 0, sizeof data, &data)
        || zeKernelSetArgumentValue(kernel, 1, sizeof factor, &factor)
        || zeCommandListCreateImmediate(context, device, &queue_desc, &list))
        return 1;
    double begin = 0;
    long memory = 0;
    int opened = 0, launches = atoi(words[2]), warm = 2000;
    for (int i = -warm; i < launches; i++) {
        if (i == 0)
            begin = processor_time(), memory = resident(), opened = files();
        if (zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL))
            return 4;
    }
    double each = (processor_time() - begin) / launches;
    printf("%.1f us of processor time, %ld kB, %d files\n", each, resident() - memory, files() - opened);
    return 0;
}
