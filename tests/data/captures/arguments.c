// Captured over PoCL (pocl.tar.xz) and over the simulator's own driver (simulator.tar.xz); see README.md.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define C(x) do { cl_int e_ = (x); if (e_) { printf("line %d: %d\n", __LINE__, e_); exit(1); } } while (0)
static const char *src =
"kernel void saxpy(global float *y, global const float *x, float a, int n) { int i = get_global_id(0); if (i < n) y[i] += a * x[i]; }\n"
"kernel void group(global int *y, local int *t, global const int *z) { int l = get_local_id(0); t[l] = y[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE); y[get_global_id(0)] = t[get_local_size(0) - 1 - l] + (z ? 1 : 0) + (int)get_global_offset(0); }\n"
"kernel void look(write_only image2d_t out, read_only image2d_t in, sampler_t s, float2 d) { int2 p = (int2)(get_global_id(0), get_global_id(1)); write_imagef(out, p, read_imagef(in, s, convert_float2(p) + d)); }\n"
"kernel void both(global int *a, global int *b) { int i = get_global_id(0); b[i + 16] = a[i] * 3; }\n"
"kernel void svm(global int *p, global const int *q) { int i = get_global_id(0); p[i] = q[i] + p[i - 2 < 0 ? 0 : i]; }\n";
int main(void) {
  cl_platform_id ps[8]; cl_uint np; C(clGetPlatformIDs(8, ps, &np));
  cl_device_id dev = 0; for (cl_uint i = 0; i < np && !dev; i++) clGetDeviceIDs(ps[i], CL_DEVICE_TYPE_ALL, 1, &dev, NULL);
  cl_int e; cl_context c = clCreateContext(NULL, 1, &dev, NULL, NULL, &e); C(e);
  cl_command_queue q = clCreateCommandQueue(c, dev, 0, &e); C(e);
  cl_program p = clCreateProgramWithSource(c, 1, &src, NULL, &e); C(e);
  C(clBuildProgram(p, 1, &dev, "-cl-kernel-arg-info -cl-std=CL1.2", NULL, NULL));
  float x[64], y[64]; int z[64]; for (int i = 0; i < 64; i++) { x[i] = i * 0.5f; y[i] = 1; z[i] = i; }
  cl_mem bx = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, sizeof x, x, &e), by = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_NO_ACCESS, sizeof y, y, &e), bz = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, sizeof z, z, &e); C(e);
  float a = 2.5f; int n = 50; size_t g = 64, l = 16;
  cl_kernel k = clCreateKernel(p, "saxpy", &e); C(e);
  C(clSetKernelArg(k, 0, sizeof by, &by)); C(clSetKernelArg(k, 1, sizeof bx, &bx)); C(clSetKernelArg(k, 2, 4, &a)); C(clSetKernelArg(k, 3, 4, &n));
  C(clEnqueueNDRangeKernel(q, k, 1, NULL, &g, NULL, 0, NULL, NULL));
  k = clCreateKernel(p, "group", &e); C(e);
  size_t off = 0;
  C(clSetKernelArg(k, 0, sizeof bz, &bz)); C(clSetKernelArg(k, 1, 64, NULL)); C(clSetKernelArg(k, 2, sizeof(cl_mem), NULL));
  C(clEnqueueNDRangeKernel(q, k, 1, &off, &g, &l, 0, NULL, NULL));
  k = clCreateKernel(p, "both", &e); C(e); size_t g16 = 16;
  C(clSetKernelArg(k, 0, sizeof bz, &bz)); C(clSetKernelArg(k, 1, sizeof bz, &bz));
  C(clEnqueueNDRangeKernel(q, k, 1, NULL, &g16, NULL, 0, NULL, NULL));
  cl_image_format f = {CL_RGBA, CL_FLOAT}; cl_image_desc d; memset(&d, 0, sizeof d); d.image_type = CL_MEM_OBJECT_IMAGE2D; d.image_width = 8; d.image_height = 4;
  float pix[128]; for (int i = 0; i < 128; i++) pix[i] = i;
  cl_mem in = clCreateImage(c, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &f, &d, pix, &e); C(e);
  cl_mem out = clCreateImage(c, CL_MEM_WRITE_ONLY, &f, &d, NULL, &e); C(e);
  cl_sampler s = clCreateSampler(c, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &e); C(e);
  k = clCreateKernel(p, "look", &e); C(e); float dd[2] = {1, 1}; size_t g2[2] = {8, 4};
  C(clSetKernelArg(k, 0, sizeof out, &out)); C(clSetKernelArg(k, 1, sizeof in, &in)); C(clSetKernelArg(k, 2, sizeof s, &s)); C(clSetKernelArg(k, 3, 8, dd));
  C(clEnqueueNDRangeKernel(q, k, 2, NULL, g2, NULL, 0, NULL, NULL));
  int *m = clSVMAlloc(c, CL_MEM_READ_WRITE, 64 * 4, 0), *m2 = clSVMAlloc(c, CL_MEM_READ_WRITE, 64 * 4, 0);
  if (m && m2) {
    C(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_WRITE, m, 256, 0, NULL, NULL)); C(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_WRITE, m2, 256, 0, NULL, NULL));
    for (int i = 0; i < 64; i++) { m[i] = i; m2[i] = 100 * i; }
    C(clEnqueueSVMUnmap(q, m, 0, NULL, NULL)); C(clEnqueueSVMUnmap(q, m2, 0, NULL, NULL));
    k = clCreateKernel(p, "svm", &e); C(e);
    C(clSetKernelArgSVMPointer(k, 0, m + 8)); C(clSetKernelArgSVMPointer(k, 1, m2));
    C(clEnqueueNDRangeKernel(q, k, 1, NULL, &g16, NULL, 0, NULL, NULL));
  } else puts("no SVM");
  C(clFinish(q)); puts("done"); return 0;
}
