package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.EmulatedGpus.device;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_P2PAttribute;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUresult;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Devices, contexts and peer access of the emulated driver. */
class EmulatedDevicesTest {
    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
    }

    private static CUcontext primary(int ordinal) {
        CUcontext context = new CUcontext();
        ok(cuDevicePrimaryCtxRetain(context, device(ordinal)));
        return context;
    }

    @Test
    void playsAP3() {
        int[] value = new int[1];
        ok(cuDriverGetVersion(value));
        assertThat(value[0]).isEqualTo(12060);
        ok(cuDeviceGetCount(value));
        assertThat(value[0]).isEqualTo(8);
        byte[] name = new byte[64];
        ok(cuDeviceGetName(name, 64, device(3)));
        assertThat(new String(name, StandardCharsets.US_ASCII)).startsWith("Tesla V100");
        ok(cuDeviceGetAttribute(value, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device(0)));
        assertThat(value[0]).isEqualTo(7);
        String[] bus = new String[1];
        ok(cuDeviceGetPCIBusId(bus, 16, device(2)));
        assertThat(bus[0]).isEqualTo("0000:00:19.0");
        CUdevice found = new CUdevice();
        ok(cuDeviceGetByPCIBusId(found, "0000:00:19.0"));
        assertThat(found).isEqualTo(device(2));
        assertThat(cuDeviceGet(found, 8)).isEqualTo(CUresult.CUDA_ERROR_INVALID_DEVICE);
        long[] bytes = new long[1];
        ok(cuDeviceTotalMem(bytes, device(0)));
        assertThat(bytes[0]).isEqualTo(1L << 30);
    }

    @Test
    void onlyNvLinkPairsHavePeerAccess() {
        int[] value = new int[1];
        int pairs = 0;
        for (int a = 0; a < 8; a++) {
            for (int b = 0; b < 8; b++) {
                ok(cuDeviceCanAccessPeer(value, device(a), device(b)));
                pairs += value[0];
            }
        }
        assertThat(pairs).isEqualTo(32);
        ok(cuDeviceCanAccessPeer(value, device(0), device(5)));
        assertThat(value[0]).isZero();
        ok(cuDeviceGetP2PAttribute(
                value, CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, device(0), device(3)));
        assertThat(value[0]).as("rank of a double link").isZero();
        ok(cuDeviceGetP2PAttribute(
                value, CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, device(0), device(1)));
        assertThat(value[0]).as("rank of a single link").isEqualTo(1);
    }

    @Test
    void playsOtherMachines() {
        emulator.tell("devices 2", "name 1 NVIDIA H200", "capability 1 9 0", "memory all 4096", "peer 0 1 none");
        int[] value = new int[1];
        ok(cuDeviceGetCount(value));
        assertThat(value[0]).isEqualTo(2);
        byte[] name = new byte[64];
        ok(cuDeviceGetName(name, 64, device(1)));
        assertThat(new String(name, StandardCharsets.US_ASCII)).startsWith("NVIDIA H200");
        ok(cuDeviceCanAccessPeer(value, device(0), device(1)));
        assertThat(value[0]).isZero();
        emulator.tell("devices 0");
        assertThat(cuInit(0)).isEqualTo(CUresult.CUDA_ERROR_NO_DEVICE);
    }

    @Test
    void primaryContextsAreShared() {
        CUcontext first = primary(0);
        assertThat(primary(0)).isEqualTo(first);
        assertThat(primary(1)).isNotEqualTo(first);
        assertThat(emulator.count("contexts")).isEqualTo(2);
        ok(cuDevicePrimaryCtxRelease(device(0)));
        assertThat(emulator.count("contexts")).isEqualTo(2);
        ok(cuDevicePrimaryCtxRelease(device(0)));
        assertThat(emulator.count("contexts")).isEqualTo(1);
        assertThat(cuDevicePrimaryCtxRelease(device(0))).isEqualTo(CUresult.CUDA_ERROR_INVALID_CONTEXT);
        assertThat(cuCtxSetCurrent(first)).isEqualTo(CUresult.CUDA_ERROR_INVALID_CONTEXT);
        assertThat(emulator.problems()).singleElement().asString().contains("used after its end");
    }

    @Test
    void contextsFormAStackPerThread() throws InterruptedException {
        CUcontext current = new CUcontext();
        CUcontext own = new CUcontext();
        ok(cuCtxCreate(own, 0, device(2)));
        CUcontext primary = primary(3);
        ok(cuCtxPushCurrent(primary));
        CUdevice device = new CUdevice();
        ok(cuCtxGetDevice(device));
        assertThat(device).isEqualTo(device(3));
        int[] elsewhere = new int[1];
        Thread thread = Thread.ofPlatform().start(() -> elsewhere[0] = cuCtxSynchronize());
        thread.join();
        assertThat(elsewhere[0]).isEqualTo(CUresult.CUDA_ERROR_INVALID_CONTEXT);
        ok(cuCtxPopCurrent(current));
        assertThat(current).isEqualTo(primary);
        ok(cuCtxGetCurrent(current));
        assertThat(current).isEqualTo(own);
        ok(cuCtxDestroy(own));
        assertThat(cuCtxSynchronize()).isEqualTo(CUresult.CUDA_ERROR_INVALID_CONTEXT);
    }

    @Test
    void aContextHasEightPeersUnlessThereAreSwitches() {
        for (boolean switched : new boolean[] {false, true}) {
            emulator.tell("devices 10" + (switched ? " switched" : ""));
            CUcontext first = primary(0);
            for (int peer = 1; peer < 10; peer++) {
                CUcontext context = primary(peer);
                ok(cuCtxSetCurrent(first));
                assertThat(cuCtxEnablePeerAccess(context, 0))
                        .isEqualTo(peer < 9 || switched ? CUresult.CUDA_SUCCESS : CUresult.CUDA_ERROR_TOO_MANY_PEERS);
            }
            emulator.reset();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void enablingPeerAccessMayWaitForWorkOfBothContexts(int busy) {
        List<CUcontext> contexts = List.of(primary(0), primary(1));
        ok(cuCtxSetCurrent(contexts.get(busy)));
        emulator.tell("enables wait", "patience 1", "op fill 1 hang");
        ok(cuMemsetD32Async(EmulatedGpus.allocate(4), 1, 1, EmulatedGpus.stream()));
        ok(cuCtxSetCurrent(contexts.getFirst()));
        assertThat(cuCtxEnablePeerAccess(contexts.getLast(), 0)).isEqualTo(CUresult.CUDA_ERROR_LAUNCH_TIMEOUT);
        assertThat(emulator.problems()).hasSize(1);
        emulator.tell("patience 0", "release 0");
        ok(cuCtxEnablePeerAccess(contexts.getLast(), 0));
    }

    @Test
    void peerAccessIsEnabledOnce() {
        CUcontext first = primary(0);
        CUcontext second = primary(1);
        ok(cuCtxSetCurrent(first));
        ok(cuCtxEnablePeerAccess(second, 0));
        assertThat(cuCtxEnablePeerAccess(second, 0)).isEqualTo(CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        assertThat(cuCtxEnablePeerAccess(first, 0)).isEqualTo(CUresult.CUDA_ERROR_INVALID_CONTEXT);
        assertThat(cuCtxEnablePeerAccess(primary(7), 0)).isEqualTo(CUresult.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        ok(cuCtxDisablePeerAccess(second));
        assertThat(cuCtxDisablePeerAccess(second)).isEqualTo(CUresult.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    }

    /** By hand with NVIDIA's rules: 94 registers, as 96, give a warp 3,072 of the 16,384 of a quarter. */
    @ParameterizedTest
    @CsvSource({
        "banyan_program_max_f32, 7, 544, 0, 1", // 20 warps by registers, 17 of a block
        "banyan_program_max_f32, 7, 288, 0, 2", // 9 of a block
        "banyan_program_max_f32, 7, 32, 0, 20",
        "other, 7, 544, 0, 3", // 64 warps
        "other, 7, 32, 0, 32",
        "other, 7, 32, 40000, 2", // 96 KiB
        "other, 8, 32, 40000, 4", // 164 KiB, of which each block takes 1 KiB for the system
        "other, 9, 32, 40000, 5", // 228 KiB
        "other, 10, 32, 100000, 2",
    })
    void blocksOfAMultiprocessorAreLimitedByRegistersAndMemory(
            String name, int major, int threads, int shared, int expected) {
        emulator.tell("capability all " + major + " 0");
        EmulatedGpus.enter(0);
        String kernel = ".version 6.3\n.target sm_70\n.address_size 64\n.visible .entry " + name + "()\n{\nret;\n}\n";
        int[] blocks = new int[1];
        ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, EmulatedGpus.function(kernel, name), threads, shared));
        assertThat(blocks[0]).isEqualTo(expected);
    }
}
