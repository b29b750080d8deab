/* What an enqueue of a small kernel costs: microseconds of one that is waited for, and of one among many. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

int main(void)
{
    const char *source = "kernel void add(global float *a, float b) { a[get_global_id(0)] += b; }";
    const size_t global = 256, local = 64;
    const float one = 1;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return 1;
    cl_kernel kernel = clCreateKernel(program, "add", NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, global * sizeof one, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof one, &one);
    for (int round = 0; round < 4; round++) {
        const int n = 500;
        double start = now();
        for (int i = 0; i < n; i++) {
            clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
            clFinish(queue);
        }
        double each = now() - start;
        start = now();
        for (int i = 0; i < n; i++)
            clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
        clFinish(queue);
        double many = now() - start;
        start = now();
        for (int i = 0; i < n; i++) {
            clSetKernelArg(kernel, 1, sizeof one, &one);
            clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
            clFinish(queue);
        }
        printf("%.0f us waited for, %.0f us among many, %.0f us with an argument set\n", each / n, many / n, (now() - start) / n);
    }
    return 0;
}
