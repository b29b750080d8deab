"""Structures of Level Zero; ``docs/generate_levelzero_numbers.py`` writes them out of the public headers."""

from visakit.levelzero.layout import Structure, fields


class ze_base_desc_t(Structure):
    _fields_ = fields(globals(), "u32 stype, u64 pNext")


class ze_init_driver_type_desc_t(Structure):
    number = 0x20021
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_driver_uuid_t(Structure):
    _fields_ = fields(globals(), "u8[16] id")


class ze_driver_properties_t(Structure):
    number = 0x1
    _fields_ = fields(globals(), "u32 stype, u64 pNext, ze_driver_uuid_t uuid, u32 driverVersion")


class ze_driver_ipc_properties_t(Structure):
    number = 0x2
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_driver_extension_properties_t(Structure):
    _fields_ = fields(globals(), "u8[256] name, u32 version")


class ze_device_uuid_t(Structure):
    _fields_ = fields(globals(), "u8[16] id")


class ze_device_properties_t(Structure):
    number = 0x3
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 type, u32 vendorId, u32 deviceId, u32 flags, u32 subdeviceId, u32 "
        "coreClockRate, u64 maxMemAllocSize, u32 maxHardwareContexts, u32 maxCommandQueuePriority, u32 "
        "numThreadsPerEU, u32 physicalEUSimdWidth, u32 numEUsPerSubslice, u32 numSubslicesPerSlice, u32 numSlices, "
        "u64 timerResolution, u32 timestampValidBits, u32 kernelTimestampValidBits, ze_device_uuid_t uuid, u8[256] "
        "name",
    )


class ze_device_compute_properties_t(Structure):
    number = 0x4
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 maxTotalGroupSize, u32 maxGroupSizeX, u32 maxGroupSizeY, u32 maxGroupSizeZ, u32 "
        "maxGroupCountX, u32 maxGroupCountY, u32 maxGroupCountZ, u32 maxSharedLocalMemory, u32 numSubGroupSizes, "
        "u32[8] subGroupSizes",
    )


class ze_native_kernel_uuid_t(Structure):
    _fields_ = fields(globals(), "u8[16] id")


class ze_device_module_properties_t(Structure):
    number = 0x5
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 spirvVersionSupported, u32 flags, u32 fp16flags, u32 fp32flags, u32 fp64flags, "
        "u32 maxArgumentsSize, u32 printfBufferSize, ze_native_kernel_uuid_t nativeKernelSupported",
    )


class ze_command_queue_group_properties_t(Structure):
    number = 0x6
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags, u64 maxMemoryFillPatternSize, u32 numQueues")


class ze_device_memory_properties_t(Structure):
    number = 0x7
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 flags, u32 maxClockRate, u32 maxBusWidth, u64 totalSize, u8[256] name",
    )


class ze_device_memory_access_properties_t(Structure):
    number = 0x8
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 hostAllocCapabilities, u32 deviceAllocCapabilities, u32 "
        "sharedSingleDeviceAllocCapabilities, u32 sharedCrossDeviceAllocCapabilities, u32 "
        "sharedSystemAllocCapabilities",
    )


class ze_device_cache_properties_t(Structure):
    number = 0x9
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags, u64 cacheSize")


class ze_device_image_properties_t(Structure):
    number = 0xA
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 maxImageDims1D, u32 maxImageDims2D, u32 maxImageDims3D, u64 maxImageBufferSize, "
        "u32 maxImageArraySlices, u32 maxSamplers, u32 maxReadImageArgs, u32 maxWriteImageArgs",
    )


class ze_device_external_memory_properties_t(Structure):
    number = 0xC
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 memoryAllocationImportTypes, u32 memoryAllocationExportTypes, u32 "
        "imageImportTypes, u32 imageExportTypes",
    )


class ze_device_p2p_properties_t(Structure):
    number = 0xB
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_context_desc_t(Structure):
    number = 0xD
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_command_queue_desc_t(Structure):
    number = 0xE
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 ordinal, u32 index, u32 flags, u32 mode, u32 priority")


class ze_command_list_desc_t(Structure):
    number = 0xF
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 commandQueueGroupOrdinal, u32 flags")


class ze_copy_region_t(Structure):
    _fields_ = fields(globals(), "u32 originX, u32 originY, u32 originZ, u32 width, u32 height, u32 depth")


class ze_image_region_t(Structure):
    _fields_ = fields(globals(), "u32 originX, u32 originY, u32 originZ, u32 width, u32 height, u32 depth")


class ze_event_pool_desc_t(Structure):
    number = 0x10
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags, u32 count")


class ze_event_desc_t(Structure):
    number = 0x11
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 index, u32 signal, u32 wait")


class ze_event_counter_based_desc_t(Structure):
    number = 0x2003A
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags, u32 signal, u32 wait")


class ze_kernel_timestamp_data_t(Structure):
    _fields_ = fields(globals(), "u64 kernelStart, u64 kernelEnd")


class ze_kernel_timestamp_result_t(Structure):
    _fields_ = fields(globals(), "ze_kernel_timestamp_data_t global, ze_kernel_timestamp_data_t context")


class ze_fence_desc_t(Structure):
    number = 0x12
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_image_format_t(Structure):
    _fields_ = fields(globals(), "u32 layout, u32 type, u32 x, u32 y, u32 z, u32 w")


class ze_image_desc_t(Structure):
    number = 0x13
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 flags, u32 type, ze_image_format_t format, u64 width, u32 height, u32 depth, "
        "u32 arraylevels, u32 miplevels",
    )


class ze_image_properties_t(Structure):
    number = 0x14
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 samplerFilterFlags")


class ze_device_mem_alloc_desc_t(Structure):
    number = 0x15
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags, u32 ordinal")


class ze_host_mem_alloc_desc_t(Structure):
    number = 0x16
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_memory_allocation_properties_t(Structure):
    number = 0x17
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 type, u64 id, u64 pageSize")


class ze_module_constants_t(Structure):
    _fields_ = fields(globals(), "u32 numConstants, u64 pConstantIds, u64 pConstantValues")


class ze_module_desc_t(Structure):
    number = 0x1B
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 format, u64 inputSize, u64 pInputModule, u64 pBuildFlags, u64 pConstants",
    )


class ze_module_properties_t(Structure):
    number = 0x1C
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_kernel_desc_t(Structure):
    number = 0x1D
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags, u64 pKernelName")


class ze_kernel_uuid_t(Structure):
    _fields_ = fields(globals(), "u8[16] kid, u8[16] mid")


class ze_kernel_properties_t(Structure):
    number = 0x1E
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 numKernelArgs, u32 requiredGroupSizeX, u32 requiredGroupSizeY, u32 "
        "requiredGroupSizeZ, u32 requiredNumSubGroups, u32 requiredSubgroupSize, u32 maxSubgroupSize, u32 "
        "maxNumSubgroups, u32 localMemSize, u32 privateMemSize, u32 spillMemSize, ze_kernel_uuid_t uuid",
    )


class ze_kernel_preferred_group_size_properties_t(Structure):
    number = 0x21
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 preferredMultiple")


class ze_group_count_t(Structure):
    _fields_ = fields(globals(), "u32 groupCountX, u32 groupCountY, u32 groupCountZ")


class ze_module_program_exp_desc_t(Structure):
    number = 0x20002
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 count, u64 inputSizes, u64 pInputModules, u64 pBuildFlags, u64 pConstants",
    )


class ze_sampler_desc_t(Structure):
    number = 0x1F
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 addressMode, u32 filterMode, u8 isNormalized")


class ze_physical_mem_desc_t(Structure):
    number = 0x20
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags, u64 size")


class ze_physical_mem_properties_t(Structure):
    number = 0x20040
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u64 id, u64 size")


class ze_float_atomic_ext_properties_t(Structure):
    number = 0x10003
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 fp16Flags, u32 fp32Flags, u32 fp64Flags")


class ze_image_memory_properties_exp_t(Structure):
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u64 size, u64 rowPitch, u64 slicePitch")


class ze_scheduling_hint_exp_properties_t(Structure):
    number = 0x20003
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 schedulingHintFlags")


class ze_scheduling_hint_exp_desc_t(Structure):
    number = 0x20004
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_eu_count_ext_t(Structure):
    number = 0x10005
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 numTotalEUs")


class ze_pci_address_ext_t(Structure):
    _fields_ = fields(globals(), "u32 domain, u32 bus, u32 device, u32 function")


class ze_pci_speed_ext_t(Structure):
    _fields_ = fields(globals(), "i32 genVersion, i32 width, i64 maxBandwidth")


class ze_pci_ext_properties_t(Structure):
    number = 0x10008
    _fields_ = fields(globals(), "u32 stype, u64 pNext, ze_pci_address_ext_t address, ze_pci_speed_ext_t maxSpeed")


class ze_image_allocation_ext_properties_t(Structure):
    number = 0x1000C
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u64 id")


class ze_linkage_inspection_ext_desc_t(Structure):
    number = 0x10007
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_memory_free_ext_desc_t(Structure):
    number = 0x1000A
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 freePolicy")


class ze_device_ip_version_ext_t(Structure):
    number = 0x1000F
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 ipVersion")


class ze_kernel_max_group_size_properties_ext_t(Structure):
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 maxGroupSize")


class ze_event_query_kernel_timestamps_results_ext_properties_t(Structure):
    number = 0x10012
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u64 pKernelTimestampsBuffer, u64 pSynchronizedTimestampsBuffer")


class ze_event_pool_counter_based_exp_desc_t(Structure):
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 flags")


class ze_device_vector_width_properties_ext_t(Structure):
    number = 0x20029
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 vector_width_size, u32 preferred_vector_width_char, u32 "
        "preferred_vector_width_short, u32 preferred_vector_width_int, u32 preferred_vector_width_long, u32 "
        "preferred_vector_width_float, u32 preferred_vector_width_double, u32 preferred_vector_width_half, u32 "
        "native_vector_width_char, u32 native_vector_width_short, u32 native_vector_width_int, u32 "
        "native_vector_width_long, u32 native_vector_width_float, u32 native_vector_width_double, u32 "
        "native_vector_width_half",
    )


class ze_device_usablemem_size_ext_properties_t(Structure):
    number = 0x20041
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u64 currUsableMemSize")


class zes_device_state_t(Structure):
    number = 0x15
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 reset, u32 repaired")


class zes_device_properties_t(Structure):
    number = 0x1
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, ze_device_properties_t core, u32 numSubdevices, u8[64] serialNumber, u8[64] "
        "boardNumber, u8[64] brandName, u8[64] modelName, u8[64] vendorName, u8[64] driverVersion",
    )


class zes_pci_address_t(Structure):
    _fields_ = fields(globals(), "u32 domain, u32 bus, u32 device, u32 function")


class zes_pci_speed_t(Structure):
    _fields_ = fields(globals(), "i32 gen, i32 width, i64 maxBandwidth")


class zes_pci_properties_t(Structure):
    number = 0x2
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, zes_pci_address_t address, zes_pci_speed_t maxSpeed, u8 haveBandwidthCounters, u8 "
        "havePacketCounters, u8 haveReplayCounters",
    )


class zes_mem_properties_t(Structure):
    number = 0xB
    _fields_ = fields(
        globals(),
        "u32 stype, u64 pNext, u32 type, u8 onSubdevice, u32 subdeviceId, u32 location, u64 physicalSize, i32 "
        "busWidth, i32 numChannels",
    )


class zes_mem_state_t(Structure):
    number = 0x1E
    _fields_ = fields(globals(), "u32 stype, u64 pNext, u32 health, u64 free, u64 size")
