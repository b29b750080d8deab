"""Structures of Level Zero; ``docs/generate_levelzero_numbers.py`` writes them out of the public headers."""

from visakit.levelzero.layout import structure

# fmt: off
ze_base_desc_t = structure("ze_base_desc_t", "u32 stype, u64 pNext")
ze_init_driver_type_desc_t = structure("ze_init_driver_type_desc_t", "u32 stype, u64 pNext, u32 flags", 0x20021)
ze_driver_uuid_t = structure("ze_driver_uuid_t", "u8[16] id")
ze_driver_properties_t = structure("ze_driver_properties_t",
    "u32 stype, u64 pNext, ze_driver_uuid_t uuid, u32 driverVersion", 0x1)
ze_driver_ipc_properties_t = structure("ze_driver_ipc_properties_t", "u32 stype, u64 pNext, u32 flags", 0x2)
ze_driver_extension_properties_t = structure("ze_driver_extension_properties_t", "u8[256] name, u32 version")
ze_device_uuid_t = structure("ze_device_uuid_t", "u8[16] id")
ze_device_properties_t = structure("ze_device_properties_t",
    "u32 stype, u64 pNext, u32 type, u32 vendorId, u32 deviceId, u32 flags, u32 subdeviceId, u32 "
    "coreClockRate, u64 maxMemAllocSize, u32 maxHardwareContexts, u32 maxCommandQueuePriority, u32 "
    "numThreadsPerEU, u32 physicalEUSimdWidth, u32 numEUsPerSubslice, u32 numSubslicesPerSlice, u32 "
    "numSlices, u64 timerResolution, u32 timestampValidBits, u32 kernelTimestampValidBits, ze_device_uuid_t "
    "uuid, u8[256] name", 0x3)
ze_device_compute_properties_t = structure("ze_device_compute_properties_t",
    "u32 stype, u64 pNext, u32 maxTotalGroupSize, u32 maxGroupSizeX, u32 maxGroupSizeY, u32 maxGroupSizeZ, "
    "u32 maxGroupCountX, u32 maxGroupCountY, u32 maxGroupCountZ, u32 maxSharedLocalMemory, u32 "
    "numSubGroupSizes, u32[8] subGroupSizes", 0x4)
ze_native_kernel_uuid_t = structure("ze_native_kernel_uuid_t", "u8[16] id")
ze_device_module_properties_t = structure("ze_device_module_properties_t",
    "u32 stype, u64 pNext, u32 spirvVersionSupported, u32 flags, u32 fp16flags, u32 fp32flags, u32 "
    "fp64flags, u32 maxArgumentsSize, u32 printfBufferSize, ze_native_kernel_uuid_t nativeKernelSupported", 0x5)
ze_command_queue_group_properties_t = structure("ze_command_queue_group_properties_t",
    "u32 stype, u64 pNext, u32 flags, u64 maxMemoryFillPatternSize, u32 numQueues", 0x6)
ze_device_memory_properties_t = structure("ze_device_memory_properties_t",
    "u32 stype, u64 pNext, u32 flags, u32 maxClockRate, u32 maxBusWidth, u64 totalSize, u8[256] name", 0x7)
ze_device_memory_access_properties_t = structure("ze_device_memory_access_properties_t",
    "u32 stype, u64 pNext, u32 hostAllocCapabilities, u32 deviceAllocCapabilities, u32 "
    "sharedSingleDeviceAllocCapabilities, u32 sharedCrossDeviceAllocCapabilities, u32 "
    "sharedSystemAllocCapabilities", 0x8)
ze_device_cache_properties_t = structure("ze_device_cache_properties_t",
    "u32 stype, u64 pNext, u32 flags, u64 cacheSize", 0x9)
ze_device_image_properties_t = structure("ze_device_image_properties_t",
    "u32 stype, u64 pNext, u32 maxImageDims1D, u32 maxImageDims2D, u32 maxImageDims3D, u64 "
    "maxImageBufferSize, u32 maxImageArraySlices, u32 maxSamplers, u32 maxReadImageArgs, u32 "
    "maxWriteImageArgs", 0xA)
ze_device_external_memory_properties_t = structure("ze_device_external_memory_properties_t",
    "u32 stype, u64 pNext, u32 memoryAllocationImportTypes, u32 memoryAllocationExportTypes, u32 "
    "imageImportTypes, u32 imageExportTypes", 0xC)
ze_device_p2p_properties_t = structure("ze_device_p2p_properties_t", "u32 stype, u64 pNext, u32 flags", 0xB)
ze_context_desc_t = structure("ze_context_desc_t", "u32 stype, u64 pNext, u32 flags", 0xD)
ze_command_queue_desc_t = structure("ze_command_queue_desc_t",
    "u32 stype, u64 pNext, u32 ordinal, u32 index, u32 flags, u32 mode, u32 priority", 0xE)
ze_command_list_desc_t = structure("ze_command_list_desc_t",
    "u32 stype, u64 pNext, u32 commandQueueGroupOrdinal, u32 flags", 0xF)
ze_copy_region_t = structure("ze_copy_region_t",
    "u32 originX, u32 originY, u32 originZ, u32 width, u32 height, u32 depth")
ze_image_region_t = structure("ze_image_region_t",
    "u32 originX, u32 originY, u32 originZ, u32 width, u32 height, u32 depth")
ze_event_pool_desc_t = structure("ze_event_pool_desc_t", "u32 stype, u64 pNext, u32 flags, u32 count", 0x10)
ze_event_desc_t = structure("ze_event_desc_t", "u32 stype, u64 pNext, u32 index, u32 signal, u32 wait", 0x11)
ze_event_counter_based_desc_t = structure("ze_event_counter_based_desc_t",
    "u32 stype, u64 pNext, u32 flags, u32 signal, u32 wait", 0x2003A)
ze_kernel_timestamp_data_t = structure("ze_kernel_timestamp_data_t", "u64 kernelStart, u64 kernelEnd")
ze_kernel_timestamp_result_t = structure("ze_kernel_timestamp_result_t",
    "ze_kernel_timestamp_data_t global, ze_kernel_timestamp_data_t context")
ze_fence_desc_t = structure("ze_fence_desc_t", "u32 stype, u64 pNext, u32 flags", 0x12)
ze_image_format_t = structure("ze_image_format_t", "u32 layout, u32 type, u32 x, u32 y, u32 z, u32 w")
ze_image_desc_t = structure("ze_image_desc_t",
    "u32 stype, u64 pNext, u32 flags, u32 type, ze_image_format_t format, u64 width, u32 height, u32 depth, "
    "u32 arraylevels, u32 miplevels", 0x13)
ze_image_properties_t = structure("ze_image_properties_t", "u32 stype, u64 pNext, u32 samplerFilterFlags", 0x14)
ze_device_mem_alloc_desc_t = structure("ze_device_mem_alloc_desc_t",
    "u32 stype, u64 pNext, u32 flags, u32 ordinal", 0x15)
ze_host_mem_alloc_desc_t = structure("ze_host_mem_alloc_desc_t", "u32 stype, u64 pNext, u32 flags", 0x16)
ze_memory_allocation_properties_t = structure("ze_memory_allocation_properties_t",
    "u32 stype, u64 pNext, u32 type, u64 id, u64 pageSize", 0x17)
ze_module_constants_t = structure("ze_module_constants_t", "u32 numConstants, u64 pConstantIds, u64 pConstantValues")
ze_module_desc_t = structure("ze_module_desc_t",
    "u32 stype, u64 pNext, u32 format, u64 inputSize, u64 pInputModule, u64 pBuildFlags, u64 pConstants", 0x1B)
ze_module_properties_t = structure("ze_module_properties_t", "u32 stype, u64 pNext, u32 flags", 0x1C)
ze_kernel_desc_t = structure("ze_kernel_desc_t", "u32 stype, u64 pNext, u32 flags, u64 pKernelName", 0x1D)
ze_kernel_uuid_t = structure("ze_kernel_uuid_t", "u8[16] kid, u8[16] mid")
ze_kernel_properties_t = structure("ze_kernel_properties_t",
    "u32 stype, u64 pNext, u32 numKernelArgs, u32 requiredGroupSizeX, u32 requiredGroupSizeY, u32 "
    "requiredGroupSizeZ, u32 requiredNumSubGroups, u32 requiredSubgroupSize, u32 maxSubgroupSize, u32 "
    "maxNumSubgroups, u32 localMemSize, u32 privateMemSize, u32 spillMemSize, ze_kernel_uuid_t uuid", 0x1E)
ze_kernel_preferred_group_size_properties_t = structure("ze_kernel_preferred_group_size_properties_t",
    "u32 stype, u64 pNext, u32 preferredMultiple", 0x21)
ze_group_count_t = structure("ze_group_count_t", "u32 groupCountX, u32 groupCountY, u32 groupCountZ")
ze_module_program_exp_desc_t = structure("ze_module_program_exp_desc_t",
    "u32 stype, u64 pNext, u32 count, u64 inputSizes, u64 pInputModules, u64 pBuildFlags, u64 pConstants", 0x20002)
ze_sampler_desc_t = structure("ze_sampler_desc_t",
    "u32 stype, u64 pNext, u32 addressMode, u32 filterMode, u8 isNormalized", 0x1F)
ze_physical_mem_desc_t = structure("ze_physical_mem_desc_t", "u32 stype, u64 pNext, u32 flags, u64 size", 0x20)
ze_physical_mem_properties_t = structure("ze_physical_mem_properties_t",
    "u32 stype, u64 pNext, u64 id, u64 size", 0x20040)
ze_float_atomic_ext_properties_t = structure("ze_float_atomic_ext_properties_t",
    "u32 stype, u64 pNext, u32 fp16Flags, u32 fp32Flags, u32 fp64Flags", 0x10003)
ze_image_memory_properties_exp_t = structure("ze_image_memory_properties_exp_t",
    "u32 stype, u64 pNext, u64 size, u64 rowPitch, u64 slicePitch")
ze_scheduling_hint_exp_properties_t = structure("ze_scheduling_hint_exp_properties_t",
    "u32 stype, u64 pNext, u32 schedulingHintFlags", 0x20003)
ze_scheduling_hint_exp_desc_t = structure("ze_scheduling_hint_exp_desc_t", "u32 stype, u64 pNext, u32 flags", 0x20004)
ze_eu_count_ext_t = structure("ze_eu_count_ext_t", "u32 stype, u64 pNext, u32 numTotalEUs", 0x10005)
ze_pci_address_ext_t = structure("ze_pci_address_ext_t", "u32 domain, u32 bus, u32 device, u32 function")
ze_pci_speed_ext_t = structure("ze_pci_speed_ext_t", "i32 genVersion, i32 width, i64 maxBandwidth")
ze_pci_ext_properties_t = structure("ze_pci_ext_properties_t",
    "u32 stype, u64 pNext, ze_pci_address_ext_t address, ze_pci_speed_ext_t maxSpeed", 0x10008)
ze_image_allocation_ext_properties_t = structure("ze_image_allocation_ext_properties_t",
    "u32 stype, u64 pNext, u64 id", 0x1000C)
ze_linkage_inspection_ext_desc_t = structure("ze_linkage_inspection_ext_desc_t",
    "u32 stype, u64 pNext, u32 flags", 0x10007)
ze_memory_free_ext_desc_t = structure("ze_memory_free_ext_desc_t", "u32 stype, u64 pNext, u32 freePolicy", 0x1000A)
ze_device_ip_version_ext_t = structure("ze_device_ip_version_ext_t", "u32 stype, u64 pNext, u32 ipVersion", 0x1000F)
ze_kernel_max_group_size_properties_ext_t = structure("ze_kernel_max_group_size_properties_ext_t",
    "u32 stype, u64 pNext, u32 maxGroupSize")
ze_event_query_kernel_timestamps_results_ext_properties_t = structure(
    "ze_event_query_kernel_timestamps_results_ext_properties_t",
    "u32 stype, u64 pNext, u64 pKernelTimestampsBuffer, u64 pSynchronizedTimestampsBuffer", 0x10012)
ze_event_pool_counter_based_exp_desc_t = structure("ze_event_pool_counter_based_exp_desc_t",
    "u32 stype, u64 pNext, u32 flags")
ze_device_vector_width_properties_ext_t = structure("ze_device_vector_width_properties_ext_t",
    "u32 stype, u64 pNext, u32 vector_width_size, u32 preferred_vector_width_char, u32 "
    "preferred_vector_width_short, u32 preferred_vector_width_int, u32 preferred_vector_width_long, u32 "
    "preferred_vector_width_float, u32 preferred_vector_width_double, u32 preferred_vector_width_half, u32 "
    "native_vector_width_char, u32 native_vector_width_short, u32 native_vector_width_int, u32 "
    "native_vector_width_long, u32 native_vector_width_float, u32 native_vector_width_double, u32 "
    "native_vector_width_half", 0x20029)
ze_device_usablemem_size_ext_properties_t = structure("ze_device_usablemem_size_ext_properties_t",
    "u32 stype, u64 pNext, u64 currUsableMemSize", 0x20041)
zes_device_state_t = structure("zes_device_state_t", "u32 stype, u64 pNext, u32 reset, u32 repaired", 0x15)
zes_device_properties_t = structure("zes_device_properties_t",
    "u32 stype, u64 pNext, ze_device_properties_t core, u32 numSubdevices, u8[64] serialNumber, u8[64] "
    "boardNumber, u8[64] brandName, u8[64] modelName, u8[64] vendorName, u8[64] driverVersion", 0x1)
zes_pci_address_t = structure("zes_pci_address_t", "u32 domain, u32 bus, u32 device, u32 function")
zes_pci_speed_t = structure("zes_pci_speed_t", "i32 gen, i32 width, i64 maxBandwidth")
zes_pci_properties_t = structure("zes_pci_properties_t",
    "u32 stype, u64 pNext, zes_pci_address_t address, zes_pci_speed_t maxSpeed, u8 haveBandwidthCounters, "
    "u8 havePacketCounters, u8 haveReplayCounters", 0x2)
zes_mem_properties_t = structure("zes_mem_properties_t",
    "u32 stype, u64 pNext, u32 type, u8 onSubdevice, u32 subdeviceId, u32 location, u64 physicalSize, i32 "
    "busWidth, i32 numChannels", 0xB)
zes_mem_state_t = structure("zes_mem_state_t", "u32 stype, u64 pNext, u32 health, u64 free, u64 size", 0x1E)
