/* A function of Python's that raises, and calls OpenCL on its way out, as destructors of extension modules do. */

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <Python.h>

PyObject *raises(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = clGetPlatformIDs(1, &platform, NULL);
    if (status == CL_SUCCESS)
        status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = status == CL_SUCCESS ? clCreateContext(NULL, 1, &device, NULL, NULL, &status) : NULL;
    cl_event event = status == CL_SUCCESS ? clCreateUserEvent(context, &status) : NULL;
    if (status != CL_SUCCESS)
        return PyLong_FromLong(status);
    PyErr_SetString(PyExc_ValueError, "kept");
    status = clReleaseEvent(event);
    if (status == CL_SUCCESS)
        status = clReleaseContext(context);
    if (status == CL_SUCCESS && PyErr_Occurred() != NULL)
        return NULL;
    PyErr_Clear();
    return PyLong_FromLong(status);
}
