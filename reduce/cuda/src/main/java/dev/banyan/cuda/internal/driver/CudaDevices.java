package dev.banyan.cuda.internal.driver;

import dev.banyan.cuda.type.CudaException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_P2PAttribute;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The GPUs that the driver shows to this process. */
public final class CudaDevices {
    private static final Logger LOG = LoggerFactory.getLogger(CudaDevices.class);
    private static final int BUS_ID_BYTES = 32;
    private static final int NAME_BYTES = 256;

    private CudaDevices() {}

    /** Returns whether there is a driver with devices. */
    public static boolean present() {
        try {
            return count() > 0;
        } catch (CudaException e) {
            LOG.debug("no CUDA here", e);
            return false;
        }
    }

    /**
     * Returns the number of devices; 0 if there is no driver or it finds none.
     *
     * @throws CudaException if there is a driver that can't be used
     */
    public static int found() {
        return CudaLibrary.findsDevices() ? count() : 0;
    }

    /**
     * Number of devices.
     *
     * @throws CudaException if there is no driver or no device
     */
    public static int count() {
        CudaLibrary.load();
        int[] count = new int[1];
        Cuda.check(JCudaDriver.cuDeviceGetCount(count), "cuDeviceGetCount");
        return count[0];
    }

    /**
     * PCI bus ids in lower case, e.g. {@code 0000:1a:00.0}, in the order in which the driver counts devices.
     *
     * @throws CudaException if there is no driver or no device
     */
    public static List<String> busIds() {
        return IntStream.range(0, count()).mapToObj(CudaDevices::busId).toList();
    }

    /**
     * The way from one device to another.
     *
     * @throws CudaException if there is no driver or no such device
     */
    public static PeerLink peer(int from, int to) {
        CudaLibrary.load();
        return new PeerLink(
                attribute(CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, from, to) != 0,
                attribute(CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, from, to));
    }

    /** Returns whether the way from one device to another has atomic operations, as NVLink does. */
    public static boolean haveAtomics(int from, int to) {
        return attribute(CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, from, to) != 0;
    }

    /** Models of devices with their numbers, e.g. {@code 8 x Tesla V100-SXM2-16GB}. */
    public static String counted(Stream<String> models) {
        return models
                .collect(Collectors.groupingBy(model -> model, TreeMap::new, Collectors.counting()))
                .entrySet()
                .stream()
                .map(model -> model.getValue() + " x " + model.getKey())
                .collect(Collectors.joining(", "));
    }

    /**
     * The model of a device, e.g. {@code Tesla V100-SXM2-16GB}.
     *
     * @throws CudaException if there is no driver or no such device
     */
    public static String model(int ordinal) {
        CudaLibrary.load();
        byte[] name = new byte[NAME_BYTES];
        Cuda.check(
                JCudaDriver.cuDeviceGetName(name, NAME_BYTES, device(ordinal)), "cuDeviceGetName of device " + ordinal);
        String text = new String(name, StandardCharsets.UTF_8);
        int end = text.indexOf('\0');
        return (end < 0 ? text : text.substring(0, end)).strip();
    }

    /** Returns whether other processes can map memory of a device by a file descriptor. */
    public static boolean givesDescriptors(int ordinal) {
        return CudaDevice.attribute(
                        device(ordinal),
                        ordinal,
                        CUdevice_attribute.CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
                != 0;
    }

    /** Returns whether the driver says that a device can have multicast addresses. */
    public static boolean multicasts(int ordinal) {
        return MulticastMemory.isSupported(device(ordinal));
    }

    /**
     * The version of CUDA that the driver has, e.g. {@code CUDA 12.4}.
     *
     * @throws CudaException if there is no driver
     */
    public static String driver() {
        CudaLibrary.load();
        int[] version = new int[1];
        Cuda.check(JCudaDriver.cuDriverGetVersion(version), "cuDriverGetVersion");
        return "CUDA " + version[0] / 1000 + "." + version[0] % 1000 / 10;
    }

    private static int attribute(int attribute, int from, int to) {
        int[] value = new int[1];
        Cuda.check(
                JCudaDriver.cuDeviceGetP2PAttribute(value, attribute, device(from), device(to)),
                "cuDeviceGetP2PAttribute from device " + from + " to " + to);
        return value[0];
    }

    private static CUdevice device(int ordinal) {
        CUdevice device = new CUdevice();
        Cuda.check(JCudaDriver.cuDeviceGet(device, ordinal), "cuDeviceGet of device " + ordinal);
        return device;
    }

    private static String busId(int ordinal) {
        CUdevice device = device(ordinal);
        String[] text = {""};
        Cuda.check(
                JCudaDriver.cuDeviceGetPCIBusId(text, BUS_ID_BYTES, device),
                "cuDeviceGetPCIBusId of device " + ordinal);
        return text[0].toLowerCase(Locale.ROOT);
    }
}
