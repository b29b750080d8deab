__constant sampler_t near0 = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
__constant sampler_t lin = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
__constant sampler_t rep = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
__kernel void line(__read_only image1d_t a, __global float4 *o) { int i=get_global_id(0); o[i] = read_imagef(a, near0, i-3) + read_imagef(a, lin, (i+0.3f)/20.0f); }
__kernel void lines(__read_only image1d_array_t a, __global float4 *o) { int i=get_global_id(0); o[i] = read_imagef(a, near0, (int2)(i%8,i/16)) + (float4)(get_image_width(a), get_image_array_size(a),0,0); }
__kernel void planes(__read_only image2d_array_t a, __global float4 *o) { int i=get_global_id(0); o[i] = read_imagef(a, near0, (int4)(i%8,(i/8)%4,i/16,0)) + read_imagef(a, lin, (float4)(0.013f*i,0.4f,0.03f*i,0)) + (float4)(get_image_width(a), get_image_height(a), get_image_array_size(a),0); }
__kernel void solid(__read_only image3d_t a, __global float4 *o) { int i=get_global_id(0); o[i] = read_imagef(a, near0, (int4)(i%8,(i/8)%4,i/16,0)) + read_imagef(a, rep, (float4)(0.05f*i,-0.03f*i,0.021f*i,0)) + (float4)(get_image_width(a), get_image_height(a), get_image_depth(a),0); }
__kernel void elements(__read_only image1d_buffer_t a, __global float4 *o) { int i=get_global_id(0); o[i] = read_imagef(a, i); }
