package dev.banyan.reduce.cuda;

import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import jcuda.driver.CUdevice;
import jcuda.driver.JCudaDriver;

/** The GPUs that the driver shows to this process. */
public final class CudaDevices {
    private static final int BUS_ID_BYTES = 32;

    private CudaDevices() {}

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

    private static String busId(int ordinal) {
        CUdevice device = new CUdevice();
        Cuda.check(JCudaDriver.cuDeviceGet(device, ordinal), "cuDeviceGet of device " + ordinal);
        String[] text = {""};
        Cuda.check(
                JCudaDriver.cuDeviceGetPCIBusId(text, BUS_ID_BYTES, device),
                "cuDeviceGetPCIBusId of device " + ordinal);
        return text[0].toLowerCase(Locale.ROOT);
    }
}
