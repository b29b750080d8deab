/* A kernel with a barrier that some work-items go around, and one that all come to, with the argument 1. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>

#define CHECK(what) do { cl_int e_ = (what); if (e_ != CL_SUCCESS) { printf("%s: %d\n", #what, e_); return 1; } } while (0)

static const char *source =
    "kernel void turn(global int *data, int mended)\n"
    "{\n"
    "    local int room[32];\n"
    "    int i = get_local_id(0);\n"
    "    room[i] = data[i];\n"
    "    if (mended) barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    else if (data[i] < 20) barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    data[i] = room[31 - i];\n"
    "}\n";

int main(int argc, char **argv)
{
    const int mended = argc > 1;
    const size_t items = 32;
    int data[32], wrong = 0;
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;

    for (int i = 0; i < 32; i++)
        data[i] = i;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CHECK(error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    CHECK(error);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &error);
    CHECK(error);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    CHECK(error);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "turn", &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    CHECK(clSetKernelArg(kernel, 1, sizeof mended, &mended));
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
    for (int i = 0; i < 32; i++)
        wrong += data[i] != 31 - i;
    printf("%d wrong\n", wrong);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return 0;
}
