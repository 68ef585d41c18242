package dev.banyan.nvml;

import dev.banyan.config.Setting;
import dev.banyan.topology.Machine;
import dev.banyan.topology.MachineProbe;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the NVIDIA GPUs of this machine and their links by NVML.
 *
 * <p>The library is {@code libnvidia-ml.so.1} as the loader finds it, or the file that the system property or
 * environment variable BANYAN_NVML_LIBRARY names. Devices are in NVML's order, which is the order of PCI bus ids, and
 * are named {@code GPU0} and so on by NVML's index; CUDA's order may differ. The probe ignores CUDA_VISIBLE_DEVICES.
 *
 * <p>A device that cannot be used (in MIG mode, not permitted, fallen off the bus) is left out with a warning; if none
 * is left, the answer gives the reason. A pair whose NVLink is up at one end only is taken as PCIe, with a warning.
 * Attributes of a device: {@code dev}, {@code model} and {@code sm} as in NCCL's files; {@code nvml.memory_bytes},
 * {@code nvml.driver}, {@code nvml.nvlink_version} (NVML's number of the version); and {@code no_peer_access}, the bus
 * ids, separated by blanks, of the devices to which the driver refuses it peer access.
 *
 * <p>Cost: O(n^2) calls for n devices. Safe for use from any thread; each call opens the library anew.
 */
public final class NvmlProbe implements MachineProbe {
    static final Setting<String> LIBRARY = Setting.text(
                    "BANYAN_NVML_LIBRARY",
                    "the path of NVML's library",
                    "libnvidia-ml.so.1",
                    "Names NVIDIA's management library; the loader finds the default.")
            .outsideFiles();

    private final @Nullable String file;
    private final LinuxFiles linux;

    /** Creates a probe of the library that the settings name. */
    public NvmlProbe() {
        this(LIBRARY.ofProcess().orElse(null), LinuxFiles.ofThisMachine());
    }

    /** @param file the file of the library, or null for the one that the loader finds */
    NvmlProbe(@Nullable String file, LinuxFiles linux) {
        this.file = file;
        this.linux = linux;
    }

    @Override
    public String name() {
        return "nvml";
    }

    @Override
    public Answer probe() {
        try (NvmlLibrary library = NvmlLibrary.load(file);
                NvmlSession session = new NvmlSession(library)) {
            return look(session);
        } catch (NvmlLibrary.NotFoundException e) {
            return file == null ? new Absent(e.sentence()) : new Unusable(e.sentence());
        } catch (NvmlException e) {
            return e.is(NvmlReturn.ERROR_DRIVER_NOT_LOADED)
                    ? new Absent("no NVIDIA driver is running: " + e.sentence())
                    : new Unusable("the NVIDIA driver cannot be used: " + e.sentence());
        }
    }

    private Answer look(NvmlSession session) {
        String driver = session.driverVersion();
        int count = session.deviceCount();
        if (count == 0) {
            return new Absent(
                    "NVIDIA driver " + driver + " finds no GPU; see whether lspci shows one, and in a container"
                            + " whether NVIDIA_VISIBLE_DEVICES names one");
        }
        List<String> warnings = new ArrayList<>();
        List<String> leftOut = new ArrayList<>();
        DeviceQueries queries = new DeviceQueries(session, linux, new LinkQueries(session, linux, warnings));
        List<ProbedGpu> gpus = new ArrayList<>();
        List<MemorySegment> handles = new ArrayList<>();
        for (int index = 0; index < count; index++) {
            try {
                MemorySegment handle = session.device(index, ProbedGpu.name(index));
                if (queries.isMig(handle, ProbedGpu.name(index))) {
                    leftOut.add(mig(index));
                } else {
                    gpus.add(queries.read(index, handle));
                    handles.add(handle);
                }
            } catch (NvmlException e) {
                leftOut.add(e.sentence());
            }
        }
        if (gpus.isEmpty()) {
            String which = count == 1 ? "the only GPU cannot be used: " : "none of " + count + " GPUs can be used: ";
            return new Unusable(which + leftOut.getFirst());
        }
        leftOut.forEach(reason -> warnings.add(reason + "; the GPU is left out"));
        List<String> names = gpus.stream().map(ProbedGpu::name).toList();
        GpuPairs pairs = new GpuPairs(session, handles, names, warnings);
        Machine machine = new MachineAssembly(driver, gpus, linux.cpu(), pairs, warnings).build();
        return new Found(machine);
    }

    private static String mig(int index) {
        return ProbedGpu.name(index) + " is in MIG mode, whose partitions reach no other GPU; turn it off by nvidia-smi"
                + " -i " + index + " -mig 0 and a reset";
    }
}
