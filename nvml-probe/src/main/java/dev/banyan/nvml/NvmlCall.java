package dev.banyan.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.banyan.config.internal.NativeFunction;
import java.lang.foreign.MemoryLayout;

/**
 * The functions of NVML that Banyan calls. All return {@code nvmlReturn_t}; {@code unsigned int} and enums are 32 bits,
 * {@code nvmlDevice_t} and results are pointers.
 */
enum NvmlCall {
    INIT("nvmlInit_v2"),
    SHUTDOWN("nvmlShutdown"),
    DRIVER_VERSION("nvmlSystemGetDriverVersion", ADDRESS, JAVA_INT),
    DEVICE_COUNT("nvmlDeviceGetCount_v2", ADDRESS),
    DEVICE("nvmlDeviceGetHandleByIndex_v2", JAVA_INT, ADDRESS),
    NAME("nvmlDeviceGetName", ADDRESS, ADDRESS, JAVA_INT),
    PCI_INFO("nvmlDeviceGetPciInfo_v3", ADDRESS, ADDRESS),
    MEMORY_INFO("nvmlDeviceGetMemoryInfo", ADDRESS, ADDRESS),
    COMPUTE_CAPABILITY("nvmlDeviceGetCudaComputeCapability", ADDRESS, ADDRESS, ADDRESS),
    PCIE_GENERATION("nvmlDeviceGetMaxPcieLinkGeneration", ADDRESS, ADDRESS),
    PCIE_WIDTH("nvmlDeviceGetMaxPcieLinkWidth", ADDRESS, ADDRESS),
    /** Since driver 450. */
    MIG_MODE("nvmlDeviceGetMigMode", ADDRESS, ADDRESS, ADDRESS),
    /** Since driver 450. */
    MEMORY_AFFINITY("nvmlDeviceGetMemoryAffinity", ADDRESS, JAVA_INT, ADDRESS, JAVA_INT),
    COMMON_ANCESTOR("nvmlDeviceGetTopologyCommonAncestor", ADDRESS, ADDRESS, ADDRESS),
    P2P_STATUS("nvmlDeviceGetP2PStatus", ADDRESS, ADDRESS, JAVA_INT, ADDRESS),
    LINK_STATE("nvmlDeviceGetNvLinkState", ADDRESS, JAVA_INT, ADDRESS),
    LINK_VERSION("nvmlDeviceGetNvLinkVersion", ADDRESS, JAVA_INT, ADDRESS),
    LINK_CAPABILITY("nvmlDeviceGetNvLinkCapability", ADDRESS, JAVA_INT, JAVA_INT, ADDRESS),
    LINK_REMOTE_PCI("nvmlDeviceGetNvLinkRemotePciInfo_v2", ADDRESS, JAVA_INT, ADDRESS),
    /** Since driver 455: older drivers report only the bus id. */
    LINK_REMOTE_TYPE("nvmlDeviceGetNvLinkRemoteDeviceType", ADDRESS, JAVA_INT, ADDRESS);

    @SuppressWarnings("ImmutableEnumChecker") // Handles are immutable.
    final NativeFunction function;

    NvmlCall(String symbol, MemoryLayout... arguments) {
        function = NativeFunction.of(symbol, arguments);
    }
}
