// A program from SPIR-V (of ../opencl/scan.cl) over unified shared memory: captured over the simulator's own driver (simulator.tar.xz); see README.md.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#define C(x) do { cl_int e_ = (x); if (e_) { printf("line %d: %d\n", __LINE__, e_); exit(1); } } while (0)
typedef void *(*Alloc)(cl_context, cl_device_id, const void *, size_t, cl_uint, cl_int *);
typedef cl_int (*SetArg)(cl_kernel, cl_uint, const void *);
int main(int argc, char **argv) {
  static char il[100000]; FILE *fp = fopen(argv[1], "rb"); size_t n = fread(il, 1, sizeof il, fp);
  cl_platform_id ps[8]; cl_uint np; C(clGetPlatformIDs(8, ps, &np)); cl_device_id dev; C(clGetDeviceIDs(ps[0], CL_DEVICE_TYPE_ALL, 1, &dev, NULL));
  cl_int e; cl_context c = clCreateContext(NULL, 1, &dev, NULL, NULL, &e); C(e); cl_command_queue q = clCreateCommandQueueWithProperties(c, dev, NULL, &e); C(e);
  cl_program p = clCreateProgramWithIL(c, il, n, &e); C(e); C(clBuildProgram(p, 1, &dev, "", NULL, NULL));
  Alloc alloc = (Alloc)clGetExtensionFunctionAddressForPlatform(ps[0], "clSharedMemAllocINTEL"); SetArg set = (SetArg)clGetExtensionFunctionAddressForPlatform(ps[0], "clSetKernelArgMemPointerINTEL");
  unsigned *x = alloc(c, dev, NULL, 256 * 4 + 64, 0, &e); C(e); unsigned *ends = alloc(c, dev, NULL, 16, 0, &e); C(e);
  for (int i = 0; i < 272; i++) x[i] = i * 7 % 13; for (int i = 0; i < 4; i++) ends[i] = 0;
  size_t g = 256, l = 64;
  const char *names[] = {"scan", "add"};
  for (int i = 0; i < 2; i++) { cl_kernel k = clCreateKernel(p, names[i], &e); C(e); C(set(k, 0, x + 16)); C(set(k, 1, ends)); C(clEnqueueNDRangeKernel(q, k, 1, NULL, &g, &l, 0, NULL, NULL)); C(clFinish(q)); }
  printf("done il %u\n", x[271]); return 0;
}
