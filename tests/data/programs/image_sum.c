/* A picture is blurred with a sampler, and its channels are summed in work-groups; what the commands wait for is said by events. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define WIDTH 64
#define HEIGHT 32
#define GROUP 64
#define CHECK(what) do { cl_int e_ = (what); if (e_ != CL_SUCCESS) { printf("%s: %d\n", #what, e_); exit(1); } } while (0)

static const char *source[] = {
    "constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n",
    "kernel void blur(read_only image2d_t from, write_only image2d_t to) {\n"
    "  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "  uint4 sum = 0;\n"
    "  for (int y = -1; y <= 1; y++)\n"
    "    for (int x = -1; x <= 1; x++) sum += read_imageui(from, nearest, at + (int2)(x, y));\n"
    "  write_imageui(to, at, sum / 9);\n"
    "}\n",
    "kernel void total(read_only image2d_t from, local uint *part, global volatile uint *sums) {\n"
    "  uint l = get_local_id(0), i = get_global_id(0);\n"
    "  uint4 texel = read_imageui(from, nearest, (int2)(i % 64, i / 64));\n"
    "  part[l] = texel.x + texel.y + texel.z + texel.w;\n"
    "  for (uint n = get_local_size(0) / 2; n; n /= 2) {\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l < n) part[l] += part[l + n];\n"
    "  }\n"
    "  if (l == 0) { sums[1 + get_group_id(0)] = part[0]; atomic_add(sums, part[0]); }\n"
    "  if (i == 0) printf(\"%u groups\\n\", (uint)get_num_groups(0));\n"
    "}\n"};

static unsigned char picture[HEIGHT][WIDTH][4], blurred[HEIGHT][WIDTH][4];

static int clamp(int value, int end)
{
    return value < 0 ? 0 : value < end ? value : end - 1;
}

static void CL_CALLBACK done(cl_event event, cl_int status, void *data)
{
    *(volatile int *)data = status == CL_COMPLETE ? 1 : -1;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CHECK(error);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    CHECK(error);

    unsigned wanted = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < 4; c++)
                picture[y][x][c] = x * 3 + y * 5 + c * 40;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < 4; c++) {
                unsigned sum = 0;
                for (int b = -1; b <= 1; b++)
                    for (int a = -1; a <= 1; a++)
                        sum += picture[clamp(y + b, HEIGHT)][clamp(x + a, WIDTH)][c];
                blurred[y][x][c] = sum / 9;
                wanted += sum / 9;
            }

    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc shape = {CL_MEM_OBJECT_IMAGE2D, WIDTH, HEIGHT};
    const size_t origin[3] = {0}, region[3] = {WIDTH, HEIGHT, 1}, items = WIDTH * HEIGHT, group = GROUP;
    const size_t groups = items / group, bytes = (1 + groups) * sizeof(cl_uint);
    cl_mem from = clCreateImage(context, CL_MEM_READ_ONLY, &format, &shape, NULL, &error);
    CHECK(error);
    cl_mem to = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);
    CHECK(error);
    cl_mem sums = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    CHECK(error);
    cl_program program = clCreateProgramWithSource(context, 3, source, NULL, &error);
    CHECK(error);
    CHECK(clBuildProgram(program, 0, NULL, "-cl-fast-relaxed-math", NULL, NULL));
    cl_kernel kernels[2];
    CHECK(clCreateKernelsInProgram(program, 2, kernels, NULL));
    CHECK(clSetKernelArg(kernels[0], 0, sizeof from, &from));
    CHECK(clSetKernelArg(kernels[0], 1, sizeof to, &to));
    CHECK(clSetKernelArg(kernels[1], 0, sizeof to, &to));
    CHECK(clSetKernelArg(kernels[1], 1, GROUP * sizeof(cl_uint), NULL));
    CHECK(clSetKernelArg(kernels[1], 2, sizeof sums, &sums));

    const cl_uint zero = 0;
    volatile int told = 0;
    cl_event begin = clCreateUserEvent(context, &error), events[4];
    CHECK(error);
    CHECK(clEnqueueWriteImage(queue, from, CL_FALSE, origin, region, 0, 0, picture, 1, &begin, &events[0]));
    CHECK(clEnqueueFillBuffer(queue, sums, &zero, sizeof zero, 0, bytes, 0, NULL, &events[1]));
    CHECK(clEnqueueNDRangeKernel(queue, kernels[0], 2, NULL, region, NULL, 1, &events[0], &events[2]));
    CHECK(clEnqueueNDRangeKernel(queue, kernels[1], 1, NULL, &items, &group, 2, &events[1], &events[3]));
    CHECK(clSetEventCallback(events[3], CL_COMPLETE, done, (void *)&told));
    CHECK(clSetUserEventStatus(begin, CL_COMPLETE));
    cl_uint *found = clEnqueueMapBuffer(queue, sums, CL_TRUE, CL_MAP_READ, 0, bytes, 1, &events[3], NULL, &error);
    CHECK(error);
    unsigned parts = 0;
    for (size_t i = 1; i <= groups; i++)
        parts += found[i];
    int wrong = found[0] != wanted || parts != wanted;
    CHECK(clEnqueueUnmapMemObject(queue, sums, found, 0, NULL, NULL));
    static unsigned char result[HEIGHT][WIDTH][4];
    CHECK(clEnqueueReadImage(queue, to, CL_TRUE, origin, region, 0, 0, result, 1, &events[2], NULL));
    CHECK(clFinish(queue));
    for (int i = 0; i < WIDTH * HEIGHT * 4; i++)
        wrong += (&result[0][0][0])[i] != (&blurred[0][0][0])[i];
    printf("sum %u, %d wrong, told %d\n", wanted, wrong, told);
    return wrong != 0 || told != 1;
}
