// Structures, offsets, layers and volumes: captured over the simulator's own driver (simulator.tar.xz); see README.md.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define C(x) do { cl_int e_ = (x); if (e_) { printf("line %d: %d\n", __LINE__, e_); exit(1); } } while (0)
static const char *src =
"typedef struct { float a; int b; char c[4]; } S;\n"
"kernel void take(global float *y, S s, constant float *w) { int i = get_global_id(0) + 4 * get_global_id(1) + 8 * get_global_id(2); y[i] = s.a * w[i & 3] + s.b + s.c[i & 3] + get_global_offset(1); }\n"
"kernel void layers(global uint4 *y, read_only image2d_array_t in, sampler_t s) { int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0); y[(p.z * 4 + p.y) * 8 + p.x] = read_imageui(in, s, p); }\n"
"kernel void volume(global float4 *y, read_only image3d_t in, sampler_t s) { float4 p = (float4)(get_global_id(0), get_global_id(1), get_global_id(2), 0) / (float4)(8, 4, 2, 1); y[(get_global_id(2) * 4 + get_global_id(1)) * 8 + get_global_id(0)] = read_imagef(in, s, p); }\n";
typedef struct { float a; int b; char c[4]; } S;
int main(void) {
  cl_platform_id ps[8]; cl_uint np; C(clGetPlatformIDs(8, ps, &np)); cl_device_id dev; C(clGetDeviceIDs(ps[0], CL_DEVICE_TYPE_ALL, 1, &dev, NULL));
  cl_int e; cl_context c = clCreateContext(NULL, 1, &dev, NULL, NULL, &e); C(e);
  cl_command_queue q = clCreateCommandQueue(c, dev, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &e); C(e);
  cl_program p = clCreateProgramWithSource(c, 1, &src, NULL, &e); C(e); C(clBuildProgram(p, 1, &dev, "", NULL, NULL));
  float w[4] = {1, 2, 3, 4}; S s = {1.5f, 7, {1, -1, 2, -2}};
  cl_mem y = clCreateBuffer(c, 0, 16 * 128, NULL, &e), bw = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, sizeof w, w, &e); C(e);
  int zero = 0; C(clEnqueueFillBuffer(q, y, &zero, 4, 0, 16 * 128, 0, NULL, NULL)); C(clFinish(q));
  cl_kernel k = clCreateKernel(p, "take", &e); C(e); size_t g[3] = {4, 2, 2}, l[3] = {2, 2, 1};
  size_t oo[3] = {0, 0, 1};
  C(clSetKernelArg(k, 0, 8, &y)); C(clSetKernelArg(k, 1, sizeof s, &s)); C(clSetKernelArg(k, 2, 8, &bw)); C(clEnqueueNDRangeKernel(q, k, 3, oo, g, l, 0, NULL, NULL)); C(clFinish(q));
  unsigned char px[8 * 4 * 2 * 4]; for (int i = 0; i < 256; i++) px[i] = i;
  cl_image_format f = {CL_RGBA, CL_UNSIGNED_INT8}, f2 = {CL_RGBA, CL_UNORM_INT8}; cl_image_desc d; memset(&d, 0, sizeof d); d.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY; d.image_width = 8; d.image_height = 4; d.image_array_size = 2;
  cl_mem a = clCreateImage(c, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &f, &d, px, &e); C(e);
  d.image_type = CL_MEM_OBJECT_IMAGE3D; d.image_depth = 2; d.image_array_size = 0;
  cl_mem v = clCreateImage(c, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &f2, &d, px, &e); C(e);
  cl_sampler s1 = clCreateSampler(c, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &e); C(e);
  cl_sampler s2 = clCreateSampler(c, CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, &e); C(e);
  size_t g3[3] = {8, 4, 2};
  k = clCreateKernel(p, "layers", &e); C(e); C(clSetKernelArg(k, 0, 8, &y)); C(clSetKernelArg(k, 1, 8, &a)); C(clSetKernelArg(k, 2, 8, &s1)); C(clEnqueueNDRangeKernel(q, k, 3, NULL, g3, NULL, 0, NULL, NULL)); C(clFinish(q));
  k = clCreateKernel(p, "volume", &e); C(e); C(clSetKernelArg(k, 0, 8, &y)); C(clSetKernelArg(k, 1, 8, &v)); C(clSetKernelArg(k, 2, 8, &s2)); C(clEnqueueNDRangeKernel(q, k, 3, NULL, g3, NULL, 0, NULL, NULL)); C(clFinish(q));
  puts("done two"); return 0;
}
