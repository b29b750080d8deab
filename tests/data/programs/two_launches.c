/* Two kernels over one buffer, or commands ("read", "write", "clear", "move"). Each argument is a way to queue them, words with spaces between: the two, what orders them ("same" queue,
 * "in-order", "wait", "finish", "barrier", "marker", "event", the program's own "user" event), and where they work ("other" buffer, "halves").
 */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#define CHECK(what) do { cl_int e_ = (what); if (e_ != CL_SUCCESS) { printf("%s: %d\n", #what, e_); return 1; } } while (0)
#define ITEMS 64
#define HAS(word) (strstr(way, word) != NULL)

static const char *source =
    "kernel void fill(global int *data, global int *other) { data[get_global_id(0)] = get_global_id(0); }\n"
    "kernel void twice(global int *data, global int *other) { data[get_global_id(0)] *= 2; }\n"
    "kernel void count(global int *data, global int *other) { atomic_inc(data); }\n"
    "kernel void look(global int *data, global int *other) { other[get_global_id(0)] = data[get_global_id(0)]; }\n";

static cl_command_queue queue(cl_context context, cl_device_id device, int out_of_order)
{
    const cl_queue_properties given[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    return clCreateCommandQueueWithProperties(context, device, out_of_order ? given : NULL, NULL);
}

/* A command over half of a buffer that is no kernel. */
static cl_int transfer(cl_command_queue on, const char *name, cl_mem data, cl_mem other, int *memory, int second_half, const cl_event *wait, cl_event *done)
{
    static const int zero = 0;
    const size_t size = ITEMS / 2 * sizeof(int), from = second_half ? size : 0;

    if (!strcmp(name, "read"))
        return clEnqueueReadBuffer(on, data, CL_FALSE, from, size, memory, wait != NULL, wait, done);
    if (!strcmp(name, "write"))
        return clEnqueueWriteBuffer(on, data, CL_FALSE, from, size, memory, wait != NULL, wait, done);
    if (!strcmp(name, "clear"))
        return clEnqueueFillBuffer(on, data, &zero, sizeof zero, from, size, wait != NULL, wait, done);
    return clEnqueueCopyBuffer(on, data, other, from, 0, size, wait != NULL, wait, done);
}

static int is_kernel(const char *name)
{
    return strcmp(name, "read") && strcmp(name, "write") && strcmp(name, "clear") && strcmp(name, "move");
}

static int run(cl_context context, cl_device_id device, cl_program program, const char *way)
{
    const size_t items = HAS("halves") ? ITEMS / 2 : ITEMS, offset = ITEMS / 2;
    int data[2][ITEMS] = {{0}};
    char names[2][8];
    cl_kernel kernels[2];
    cl_mem buffers[3];
    cl_event done, marked, user = NULL;

    if (sscanf(way, "%7s %7s", names[0], names[1]) != 2)
        return 1;
    cl_command_queue first = queue(context, device, !HAS("in-order"));
    cl_command_queue second = HAS("same") ? first : queue(context, device, 0);
    for (int i = 0; i < 3; i++)
        buffers[i] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof data[0], data[0], NULL);
    for (int i = 0; i < 2; i++) {
        if (!is_kernel(names[i]))
            continue;
        kernels[i] = clCreateKernel(program, names[i], NULL);
        CHECK(clSetKernelArg(kernels[i], 0, sizeof *buffers, &buffers[i && HAS("other") ? 1 : 0]));
        CHECK(clSetKernelArg(kernels[i], 1, sizeof *buffers, &buffers[2]));
    }
    if (is_kernel(names[0]))
        CHECK(clEnqueueNDRangeKernel(first, kernels[0], 1, NULL, &items, NULL, 0, NULL, &done));
    else
        CHECK(transfer(first, names[0], buffers[0], buffers[2], data[0], 0, NULL, &done));
    if (HAS("wait"))
        CHECK(clWaitForEvents(1, &done));
    if (HAS("finish"))
        CHECK(clFinish(first));
    if (HAS("barrier"))
        CHECK(clEnqueueBarrierWithWaitList(first, 0, NULL, NULL));
    if (HAS("marker")) {
        CHECK(clEnqueueMarkerWithWaitList(first, 0, NULL, &marked));
        CHECK(clEnqueueBarrierWithWaitList(second, 1, &marked, NULL));
    }
    if (HAS("user"))
        user = clCreateUserEvent(context, NULL);
    const cl_event *list = HAS("event") ? &done : user ? &user : NULL;
    if (is_kernel(names[1]))
        CHECK(clEnqueueNDRangeKernel(second, kernels[1], 1, HAS("halves") ? &offset : NULL, &items, NULL, list != NULL, list, NULL));
    else
        CHECK(transfer(second, names[1], buffers[HAS("other") ? 1 : 0], buffers[2], data[1], HAS("halves"), list, NULL));
    if (user) {
        CHECK(clWaitForEvents(1, &done));
        CHECK(clSetUserEventStatus(user, CL_COMPLETE));
    }
    CHECK(clFinish(second));
    CHECK(clFinish(first));
    for (int i = 0; i < 3; i++)
        CHECK(clReleaseMemObject(buffers[i]));
    return 0;
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CHECK(error);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    CHECK(error);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    for (int i = 1; i < argc; i++) {
        fprintf(stderr, "-- %s\n", argv[i]);
        if (run(context, device, program, argv[i]))
            return 1;
    }
    puts("done");
    return 0;
}
