/* Commands over a buffer, an image or shared memory, one after the other. Each argument is a way: the memory ("buffer", "image", "svm"), and the commands: kernels that write and
 * read it ("fill", "look"), "clear", "read", "write" and "move" of the program, "mapr" and "mapw" for reading and writing, "unmap". With 2 behind it a command goes into the second queue,
 * with + it waits for the event of the one before. "finish" waits for the first queue.
 */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#define CHECK(what) do { cl_int e_ = (what); if (e_ != CL_SUCCESS) { printf("%s: %d\n", #what, e_); return 1; } } while (0)
#define WIDTH 16
#define HEIGHT 4
#define BYTES (WIDTH * HEIGHT * sizeof(int))
#define IS(name) (!strcmp(word, name))

static const char *source =
    "kernel void fill(global uint *data, global uint *other) { data[get_global_id(0)] = get_global_id(0); }\n"
    "kernel void look(global uint *data, global uint *other) { other[get_global_id(0)] = data[get_global_id(0)]; }\n"
    "kernel void fill_image(write_only image2d_t data, global uint *other) {\n"
    "  write_imageui(data, (int2)(get_global_id(0) % 16, get_global_id(0) / 16), (uint4)(1, 0, 0, 0)); }\n"
    "kernel void look_image(read_only image2d_t data, global uint *other) {\n"
    "  other[get_global_id(0)] = read_imageui(data, (int2)(get_global_id(0) % 16, get_global_id(0) / 16)).x; }\n";

struct state {
    cl_context context;
    cl_program program;
    cl_command_queue queues[2];
    cl_mem memory, other;
    void *shared, *mapped;
    int is_image, host[WIDTH * HEIGHT];
    cl_event last;
};

static int kernel(struct state *s, const char *word, cl_command_queue queue, int count, const cl_event *wait, cl_event *done)
{
    const size_t items = WIDTH * HEIGHT;
    const char *name = IS("fill") ? s->is_image ? "fill_image" : "fill" : s->is_image ? "look_image" : "look";
    cl_kernel found = clCreateKernel(s->program, name, NULL);

    if (s->shared)
        CHECK(clSetKernelArgSVMPointer(found, 0, s->shared));
    else
        CHECK(clSetKernelArg(found, 0, sizeof s->memory, &s->memory));
    CHECK(clSetKernelArg(found, 1, sizeof s->other, &s->other));
    CHECK(clEnqueueNDRangeKernel(queue, found, 1, NULL, &items, NULL, count, wait, done));
    return 0;
}

static int command(struct state *s, const char *word, cl_command_queue queue, int count, const cl_event *wait, cl_event *done)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
    const cl_uint zero[4] = {0, 0, 0, 0};
    const int is_map = IS("mapr") || IS("mapw");
    const cl_map_flags flags = IS("mapr") ? CL_MAP_READ : CL_MAP_WRITE;
    size_t pitch;

    if (IS("fill") || IS("look"))
        return kernel(s, word, queue, count, wait, done);
    if (s->shared) {
        if (is_map)
            CHECK(clEnqueueSVMMap(queue, CL_FALSE, flags, s->shared, BYTES, count, wait, done));
        else if (IS("unmap"))
            CHECK(clEnqueueSVMUnmap(queue, s->shared, count, wait, done));
        else if (IS("clear"))
            CHECK(clEnqueueSVMMemFill(queue, s->shared, zero, sizeof zero, BYTES, count, wait, done));
        else if (IS("read"))
            CHECK(clEnqueueSVMMemcpy(queue, CL_FALSE, s->host, s->shared, BYTES, count, wait, done));
        else
            CHECK(clEnqueueSVMMemcpy(queue, CL_FALSE, s->shared, s->host, BYTES, count, wait, done));
        return 0;
    }
    if (IS("unmap"))
        CHECK(clEnqueueUnmapMemObject(queue, s->memory, s->mapped, count, wait, done));
    else if (is_map && s->is_image)
        s->mapped = clEnqueueMapImage(queue, s->memory, CL_FALSE, flags, origin, region, &pitch, NULL, count, wait, done, NULL);
    else if (is_map)
        s->mapped = clEnqueueMapBuffer(queue, s->memory, CL_FALSE, flags, 0, BYTES, count, wait, done, NULL);
    else if (IS("clear") && s->is_image)
        CHECK(clEnqueueFillImage(queue, s->memory, zero, origin, region, count, wait, done));
    else if (IS("clear"))
        CHECK(clEnqueueFillBuffer(queue, s->memory, zero, sizeof zero, 0, BYTES, count, wait, done));
    else if (IS("read") && s->is_image)
        CHECK(clEnqueueReadImage(queue, s->memory, CL_FALSE, origin, region, 0, 0, s->host, count, wait, done));
    else if (IS("read"))
        CHECK(clEnqueueReadBuffer(queue, s->memory, CL_FALSE, 0, BYTES, s->host, count, wait, done));
    else if (IS("write") && s->is_image)
        CHECK(clEnqueueWriteImage(queue, s->memory, CL_FALSE, origin, region, 0, 0, s->host, count, wait, done));
    else if (IS("write"))
        CHECK(clEnqueueWriteBuffer(queue, s->memory, CL_FALSE, 0, BYTES, s->host, count, wait, done));
    else if (IS("move") && s->is_image)
        CHECK(clEnqueueCopyImageToBuffer(queue, s->memory, s->other, origin, region, 0, count, wait, done));
    else if (IS("back") && s->is_image)
        CHECK(clEnqueueCopyBufferToImage(queue, s->other, s->memory, 0, origin, region, count, wait, done));
    else
        CHECK(clEnqueueCopyBuffer(queue, s->memory, s->other, 0, 0, BYTES, count, wait, done));
    return 0;
}

static int run(struct state *s, char *way)
{
    const cl_image_format format = {CL_R, CL_UNSIGNED_INT32};
    const cl_image_desc shape = {CL_MEM_OBJECT_IMAGE2D, WIDTH, HEIGHT};
    cl_device_id device;
    int error = 0;
    const int second = strchr(way, '2') != NULL;
    char *word = strtok(way, " ");

    CHECK(clGetContextInfo(s->context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL));
    for (int i = 0; i < 2; i++)
        s->queues[i] = i && !second ? NULL : clCreateCommandQueueWithProperties(s->context, device, NULL, NULL);
    s->is_image = IS("image");
    s->shared = IS("svm") ? clSVMAlloc(s->context, CL_MEM_READ_WRITE, BYTES, 0) : NULL;
    s->memory = s->is_image ? clCreateImage(s->context, CL_MEM_COPY_HOST_PTR, &format, &shape, s->host, NULL)
                            : clCreateBuffer(s->context, CL_MEM_COPY_HOST_PTR, BYTES, s->host, NULL);
    s->other = clCreateBuffer(s->context, CL_MEM_COPY_HOST_PTR, BYTES, s->host, NULL);
    s->last = NULL;
    while (!error && (word = strtok(NULL, " ")) != NULL) {
        char name[8] = {0};
        const int waits = strchr(word, '+') != NULL;

        if (IS("finish")) {
            CHECK(clFinish(s->queues[0]));
            continue;
        }
        strncpy(name, word, strcspn(word, "2+"));
        const cl_event before = s->last;
        error = command(s, name, s->queues[strchr(word, '2') != NULL], waits, waits ? &before : NULL, &s->last);
    }
    for (int i = 0; i < 2; i++)
        if (s->queues[i]) {
            CHECK(clFinish(s->queues[i]));
            CHECK(clReleaseCommandQueue(s->queues[i]));
        }
    return error;
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    struct state s[2] = {{NULL}}; /* The second one is for those with a second queue. */
    for (int i = 0; i < 2; i++) {
        s[i].context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
        s[i].program = clCreateProgramWithSource(s[i].context, 1, &source, NULL, NULL);
        CHECK(clBuildProgram(s[i].program, 1, &device, "", NULL, NULL));
    }
    for (int i = 1; i < argc; i++) {
        fprintf(stderr, "-- %s\n", argv[i]);
        if (run(&s[strchr(argv[i], '2') != NULL], argv[i]))
            return 1;
    }
    puts("done");
    return 0;
}
