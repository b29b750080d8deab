/* Two parts of a buffer as the arguments of a kernel, which goes beyond the first by as many elements as the program is told. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static const char *source =
    "kernel void copy(global int *to, global const int *from, int shift) {\n"
    "  to[get_global_id(0)] = from[get_global_id(0) + shift];\n"
    "}\n";

int main(int argc, char **argv)
{
    enum { COUNT = 64 };
    int shift = argc > 1 ? atoi(argv[1]) : 0, data[2 * COUNT], wrong = 0;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "-g", NULL, NULL))
        return 2;
    for (int i = 0; i < 2 * COUNT; i++)
        data[i] = i;
    cl_mem whole = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof data, data, NULL), parts[2];
    for (int i = 0; i < 2; i++) {
        cl_buffer_region region = {i * COUNT * sizeof(int), COUNT * sizeof(int)};
        parts[i] = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    }
    cl_kernel kernel = clCreateKernel(program, "copy", NULL);
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &parts[1]);
    clSetKernelArg(kernel, 1, sizeof(cl_mem), &parts[0]);
    clSetKernelArg(kernel, 2, sizeof shift, &shift);
    size_t count = COUNT;
    if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL) || clFinish(queue))
        return 3;
    clEnqueueReadBuffer(queue, whole, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL);
    for (int i = 0; i < COUNT - shift; i++)
        wrong += data[COUNT + i] != i + shift;
    printf("%d wrong\n", wrong);
    return 0;
}
