/* A program like any other: it adds vectors on the first device that it finds, and checks the result. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) do { cl_int e_ = (what); if (e_ != CL_SUCCESS) { printf("%s: %d\n", #what, e_); return 1; } } while (0)

static const char *source =
    "kernel void add(global const float *a, global const float *b, global float *c, int n)\n"
    "{ int i = get_global_id(0); if (i < n) c[i] = a[i] + b[i]; }\n";

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    const size_t bytes = n * sizeof(float), global = (n + 63) / 64 * 64, local = 64;
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    char name[256];

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CHECK(error);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
    CHECK(error);

    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    for (int i = 0; i < n; i++) {
        a[i] = i;
        b[i] = 2 * i;
    }
    cl_mem from = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, a, &error);
    CHECK(error);
    cl_mem other = clCreateBuffer(context, CL_MEM_READ_ONLY, bytes, NULL, &error);
    CHECK(error);
    cl_mem to = clCreateBuffer(context, CL_MEM_WRITE_ONLY, bytes, NULL, &error);
    CHECK(error);
    CHECK(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, bytes, b, 0, NULL, NULL));

    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    CHECK(error);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "add", &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernel, 0, sizeof from, &from));
    CHECK(clSetKernelArg(kernel, 1, sizeof other, &other));
    CHECK(clSetKernelArg(kernel, 2, sizeof to, &to));
    CHECK(clSetKernelArg(kernel, 3, sizeof n, &n));
    cl_event event;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, &event));
    CHECK(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, bytes, c, 1, &event, NULL));
    cl_ulong started, ended;
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof started, &started, NULL));
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof ended, &ended, NULL));

    int wrong = ended < started;
    for (int i = 0; i < n; i++)
        wrong += c[i] != 3.0f * i;
    printf("%s: %d elements, %d wrong\n", name, n, wrong);

    CHECK(clReleaseEvent(event));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return wrong != 0;
}
