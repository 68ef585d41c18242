package dev.banyan.gpuday;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import jcuda.driver.CUdevice_P2PAttribute;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/** Says which GPUs there are, and which of them reach each other. */
final class Cards {
    private static final int TEXT_BYTES = 256;
    /** An attribute that drivers before CUDA 12.1 do not know. */
    private static final int MULTICAST_SUPPORTED = 132;

    private static final Map<String, Integer> ATTRIBUTES = attributes();

    private Cards() {}

    private static Map<String, Integer> attributes() {
        Map<String, Integer> attributes = new LinkedHashMap<>();
        attributes.put("multiprocessors", CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        attributes.put("clock in kHz", CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
        attributes.put("memory clock in kHz", CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
        attributes.put("memory bus in bits", CUdevice_attribute.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
        attributes.put("bytes of L2", CUdevice_attribute.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
        attributes.put("copy engines", CUdevice_attribute.CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
        attributes.put("ECC", CUdevice_attribute.CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
        return attributes;
    }

    static void run(Recorder recorder) {
        try (Gpus gpus = Gpus.open()) {
            int[] version = new int[1];
            gpus.first().check(JCudaDriver.cuDriverGetVersion(version), "cuDriverGetVersion");
            recorder.fact("driver", Map.of(), "CUDA " + version[0] / 1000 + "." + version[0] % 1000 / 10);
            recorder.fact("GPUs", Map.of(), Integer.toString(gpus.list().size()));
            for (Gpu gpu : gpus.list()) {
                card(gpu, recorder);
            }
            for (Gpu from : gpus.list()) {
                for (Gpu to : gpus.list()) {
                    if (from.ordinal() != to.ordinal()) {
                        pair(from, to, recorder);
                    }
                }
            }
        }
    }

    private static void card(Gpu gpu, Recorder recorder) {
        Map<String, String> of = Map.of("GPU", gpu.number());
        byte[] name = new byte[TEXT_BYTES];
        gpu.check(JCudaDriver.cuDeviceGetName(name, TEXT_BYTES, gpu.handle()), "cuDeviceGetName");
        recorder.fact("card", of, text(name));
        String[] bus = {""};
        gpu.check(JCudaDriver.cuDeviceGetPCIBusId(bus, TEXT_BYTES, gpu.handle()), "cuDeviceGetPCIBusId");
        recorder.fact("bus id", of, bus[0].strip().toLowerCase(Locale.ROOT));
        recorder.fact(
                "capability",
                of,
                gpu.attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) + "."
                        + gpu.attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
        gpu.enter();
        long[] free = new long[1];
        long[] total = new long[1];
        gpu.check(JCudaDriver.cuMemGetInfo(free, total), "cuMemGetInfo");
        recorder.fact("bytes of memory", of, Long.toString(total[0]));
        recorder.fact("bytes of free memory", of, Long.toString(free[0]));
        ATTRIBUTES.forEach(
                (attribute, number) -> recorder.fact(attribute, of, Integer.toString(gpu.attribute(number))));
        int[] multicast = new int[1];
        int known = JCudaDriver.cuDeviceGetAttribute(multicast, MULTICAST_SUPPORTED, gpu.handle());
        recorder.fact("sums in the switch", of, known == CUresult.CUDA_SUCCESS && multicast[0] != 0 ? "yes" : "no");
    }

    private static void pair(Gpu from, Gpu to, Recorder recorder) {
        Map<String, String> of = new LinkedHashMap<>();
        of.put("from", from.number());
        of.put("to", to.number());
        boolean access = from.canReach(to);
        recorder.fact("peer access", of, access ? "yes" : "no");
        if (access) {
            recorder.fact(
                    "performance rank",
                    of,
                    Integer.toString(
                            attribute(CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, from, to)));
            recorder.fact(
                    "atomics over the link",
                    of,
                    attribute(CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, from, to) != 0
                            ? "yes"
                            : "no");
        }
    }

    private static int attribute(int attribute, Gpu from, Gpu to) {
        int[] value = new int[1];
        from.check(
                JCudaDriver.cuDeviceGetP2PAttribute(value, attribute, from.handle(), to.handle()),
                "cuDeviceGetP2PAttribute to " + to);
        return value[0];
    }

    /** The text before the first zero. */
    private static String text(byte[] bytes) {
        int length = 0;
        while (length < bytes.length && bytes[length] != 0) {
            length++;
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }
}
