/* A program that is interrupted, or whose thread is cancelled, while it uses OpenCL. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static cl_context context;
static cl_command_queue queue;

/* Asks for ever, and so waits for a lock of the driver; the cancellation comes between two calls. */
static void *asks(void *unused)
{
    (void)unused;
    for (;;) {
        clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL);
        clFinish(queue);
        pthread_testcancel();
    }
    return NULL;
}

int main(int count, char **words)
{
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 9;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    if (count > 1 && strcmp(words[1], "interrupt") == 0) {
        raise(SIGINT);
        puts("continued");
        return 8;
    }
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, asks, NULL);
    usleep(100000);
    for (int i = 0; i < 4; i++) {
        pthread_cancel(threads[i]);
        pthread_join(threads[i], NULL);
    }
    printf("finish %d\n", clFinish(queue));
    return 0;
}
