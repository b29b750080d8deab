/* A kernel whose objects are released when the process ends, as static variables of C++ do it; "never" launches none. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

#define CHECK(what) do { cl_int e_ = (what); if (e_ != CL_SUCCESS) { printf("%s: %d\n", #what, e_); return 1; } } while (0)
#define ITEMS 64

static const char *source = "kernel void number(global int *data) { data[get_global_id(0)] = get_global_id(0); }\n";
static cl_context context;
static cl_command_queue queue;
static cl_mem buffer;
static cl_program program;
static cl_kernel kernel;

__attribute__((destructor)) static void release(void)
{
    cl_int found = clReleaseKernel(kernel) | clReleaseProgram(program) | clReleaseMemObject(buffer);
    found |= clReleaseCommandQueue(queue) | clReleaseContext(context);
    printf("released: %d\n", found);
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    const size_t items = ITEMS;
    int data[ITEMS] = {0}, wrong = 0;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    buffer = clCreateBuffer(context, 0, sizeof data, NULL, NULL);
    program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    kernel = clCreateKernel(program, "number", NULL);
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    if (argc > 1)
        return 0;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
    for (int i = 0; i < ITEMS; i++)
        wrong += data[i] != i;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
