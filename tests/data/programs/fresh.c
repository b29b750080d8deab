/* A kernel that reads a buffer which nobody has given contents when it was made. Each argument is a way to prepare it: words of what is done, in this order. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#define CHECK(what) do { cl_int e_ = (what); if (e_ != CL_SUCCESS) { printf("%s: %d\n", #what, e_); return 1; } } while (0)
#define ITEMS 64
#define HAS(word) (strstr(way, word) != NULL)

static const char *source =
    "kernel void copy(global int *to, global const int *from) { to[get_global_id(0)] = from[get_global_id(0)]; }\n"
    "kernel void halve(global int *to, global const int *from) { if (get_global_id(0) % 2) to[get_global_id(0)] = 5; }\n";

static int run(cl_context context, cl_device_id device, cl_program program, const char *way)
{
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    const size_t items = ITEMS, bytes = ITEMS * sizeof(int), part = HAS("half") ? bytes / 2 : bytes;
    const size_t origin[3] = {0, 0, 0}, region[3] = {part / 4, 4, 1};
    int data[ITEMS] = {0}, zero = 0;
    cl_mem other = clCreateBuffer(context, HAS("contents") ? CL_MEM_COPY_HOST_PTR : 0, bytes, HAS("contents") ? data : NULL, NULL);
    cl_mem from = clCreateBuffer(context, 0, bytes, NULL, NULL), to = clCreateBuffer(context, 0, bytes, NULL, NULL);
    cl_kernel copy = clCreateKernel(program, "copy", NULL), halve = clCreateKernel(program, "halve", NULL);

    if (HAS("write"))
        CHECK(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, part, data, 0, NULL, NULL));
    if (HAS("fill"))
        CHECK(clEnqueueFillBuffer(queue, from, &zero, sizeof zero, 0, part, 0, NULL, NULL));
    if (HAS("copied"))
        CHECK(clEnqueueCopyBuffer(queue, other, from, 0, 0, part, 0, NULL, NULL));
    if (HAS("box"))
        CHECK(clEnqueueCopyBufferRect(queue, other, from, origin, origin, region, 0, 0, 0, 0, 0, NULL, NULL));
    if (HAS("map")) {
        void *place = clEnqueueMapBuffer(queue, from, CL_TRUE, HAS("only") ? CL_MAP_READ : CL_MAP_WRITE, 0, part, 0, NULL, NULL, NULL);
        CHECK(clEnqueueUnmapMemObject(queue, from, place, 0, NULL, NULL));
    }
    if (HAS("kernel")) {
        CHECK(clSetKernelArg(halve, 0, sizeof from, &from));
        CHECK(clSetKernelArg(halve, 1, sizeof other, &other));
        CHECK(clEnqueueNDRangeKernel(queue, halve, 1, NULL, &items, NULL, 0, NULL, NULL));
    }
    if (HAS("sub")) {
        const cl_buffer_region half = {0, bytes / 2};
        cl_mem sub = clCreateSubBuffer(from, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, NULL);
        CHECK(clEnqueueWriteBuffer(queue, sub, CL_TRUE, 0, bytes / 2, data, 0, NULL, NULL));
        CHECK(clReleaseMemObject(sub));
    }
    CHECK(clSetKernelArg(copy, 0, sizeof to, &to));
    CHECK(clSetKernelArg(copy, 1, sizeof from, &from));
    CHECK(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &items, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, bytes, data, 0, NULL, NULL));
    return 0;
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    CHECK(clBuildProgram(program, 1, &device, "-g", NULL, NULL));
    for (int i = 1; i < argc; i++) {
        fprintf(stderr, "-- %s\n", argv[i]);
        if (run(context, device, program, argv[i]))
            return 1;
    }
    printf("done\n");
    return 0;
}
