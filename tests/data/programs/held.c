/* A library that holds objects of OpenCL until the process ends, and does what its words say; hosts in C++ and Python
   load it. Each end releases all and says so, with the status of the releases and that of another call. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ITEMS 64

static const char *source = "kernel void number(global int *data) { data[get_global_id(0)] = get_global_id(0); }\n"
                            "kernel void endless(global volatile int *data) { while (!data[0]) ; }\n";
static const size_t items = ITEMS;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_mem buffer;
static cl_program program;
static cl_kernel number, endless;
static cl_event user, kept;
static pthread_t waiting;
static int asks;

/* What a runtime asks for on its way to a function of the driver. */
static void ask(void)
{
    cl_uint count = 0;
    cl_device_id found = NULL;
    cl_platform_id platform = NULL;
    size_t sizes[3] = {0};
    cl_int wrong = clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, &sizes[0]);
    wrong |= clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof found, &found, &sizes[1]);
    wrong |= clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, &sizes[2]);
    wrong |= clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, 1, &count, NULL) != (asks ? CL_OUT_OF_RESOURCES : CL_INVALID_VALUE);
    wrong |= sizes[0] != sizeof count || sizes[1] != sizeof found || sizes[2] != sizeof platform;
    printf("asked %d: %u devices, %d and %d\n", wrong, count, found == device, platform != NULL);
    asks = 1;
}

void release_all(const char *who)
{
    if (context == NULL)
        return;
    if (kept != NULL)
        printf("waited %d\n", clWaitForEvents(1, &kept));
    if (asks)
        ask();
    cl_int found = clReleaseKernel(number) | clReleaseKernel(endless) | clReleaseProgram(program);
    found |= clReleaseMemObject(buffer) | clReleaseEvent(user) | clReleaseCommandQueue(queue) | clReleaseContext(context);
    cl_int other = clGetDeviceInfo(device, CL_DEVICE_NAME, 0, NULL, NULL);
    printf("%s: released %d, other %d\n", who, found, other);
    fflush(stdout);
    context = NULL;
}

static void at_exit(void) { release_all("atexit"); }

__attribute__((destructor)) static void at_end(void) { release_all("destructor"); }

static void make(void)
{
    cl_platform_id platform;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    buffer = clCreateBuffer(context, 0, ITEMS * sizeof(int), NULL, NULL);
    program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    clBuildProgram(program, 0, NULL, "", NULL, NULL);
    number = clCreateKernel(program, "number", NULL);
    endless = clCreateKernel(program, "endless", NULL);
    clSetKernelArg(number, 0, sizeof buffer, &buffer);
    clSetKernelArg(endless, 0, sizeof buffer, &buffer);
    user = clCreateUserEvent(context, NULL);
}

static void run(void)
{
    int data[ITEMS] = {0}, wrong = 0;
    clEnqueueNDRangeKernel(queue, number, 1, NULL, &items, NULL, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL);
    for (int i = 0; i < ITEMS; i++)
        wrong += data[i] != i;
    printf("%d wrong\n", wrong);
    fflush(stdout);
}

static void *finish(void *unused)
{
    clFinish(queue);
    return unused;
}

static void in_child(int runs)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (runs == 2)
            printf("finish %d\n", clFinish(queue));
        else if (runs)
            run();
        exit(5);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    fflush(stdout);
}

void act(const char *word)
{
    const int zero = 0;
    if (strcmp(word, "make") == 0)
        make();
    else if (strcmp(word, "run") == 0)
        run();
    else if (strcmp(word, "ask") == 0)
        ask();
    else if (strcmp(word, "enqueue") == 0)
        clEnqueueNDRangeKernel(queue, number, 1, NULL, &items, NULL, 0, NULL, NULL);
    else if (strcmp(word, "blocked") == 0)
        clEnqueueNDRangeKernel(queue, number, 1, NULL, &items, NULL, 1, &user, NULL);
    else if (strcmp(word, "keep") == 0)
        clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, &kept);
    else if (strcmp(word, "keep-blocked") == 0)
        clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof zero, &zero, 1, &user, &kept);
    else if (strcmp(word, "endless") == 0) {
        clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL);
        clEnqueueNDRangeKernel(queue, endless, 1, NULL, &items, NULL, 0, NULL, NULL);
    } else if (strcmp(word, "wait") == 0) {
        pthread_create(&waiting, NULL, finish, NULL);
        usleep(200000);
    } else if (strcmp(word, "joined") == 0)
        pthread_join(waiting, NULL);
    else if (strcmp(word, "atexit") == 0)
        atexit(at_exit);
    else if (strcmp(word, "exit") == 0)
        exit(7);
    else if (strcmp(word, "_exit") == 0)
        _exit(7);
    else if (strcmp(word, "fork") == 0)
        in_child(0);
    else if (strcmp(word, "fork-run") == 0)
        in_child(1);
    else if (strcmp(word, "fork-finish") == 0)
        in_child(2);
}
