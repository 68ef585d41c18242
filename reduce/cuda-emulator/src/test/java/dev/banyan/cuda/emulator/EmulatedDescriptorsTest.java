package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.EmulatedGpus.GRANULE;
import static dev.banyan.cuda.emulator.EmulatedGpus.call;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import jcuda.driver.CUresult;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Memory that other processes map by descriptors; JoinedGpusTest has other processes. */
@EnabledOnOs(OS.LINUX)
class EmulatedDescriptorsTest {
    private static final int DESCRIPTOR = 1;
    private static final int INVALID = CUresult.CUDA_ERROR_INVALID_VALUE;

    private final Arena arena = Arena.ofAuto();
    private final MemorySegment number = arena.allocate(ValueLayout.JAVA_LONG);
    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
        emulator.tell("devices 3 switched", "peer 0 2 none");
    }

    @AfterEach
    void nothingIsLeft() throws IOException {
        for (String kind : new String[] {"backings", "reservations", "allocations"}) {
            assertThat(emulator.count(kind)).as(kind).isZero();
        }
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            assertThat(open.map(Path::toFile).map(file -> {
                        try {
                            return Files.readSymbolicLink(file.toPath()).toString();
                        } catch (IOException e) {
                            return "";
                        }
                    }))
                    .noneMatch(name -> name.contains("emulated CUDA"));
        }
    }

    private long create(int handleTypes) {
        MemorySegment properties = arena.allocate(32, Long.BYTES);
        properties.setAtIndex(ValueLayout.JAVA_INT, 0, 1);
        properties.setAtIndex(ValueLayout.JAVA_INT, 1, handleTypes);
        properties.setAtIndex(ValueLayout.JAVA_INT, 2, 1);
        ok(call("cuMemCreate", number, GRANULE, properties, 0L));
        return number.get(ValueLayout.JAVA_LONG, 0);
    }

    private long map(long memory) {
        ok(call("cuMemAddressReserve", number, GRANULE, 0L, 0L, 0L));
        long at = number.get(ValueLayout.JAVA_LONG, 0);
        ok(call("cuMemMap", at, GRANULE, 0L, memory, 0L));
        return at;
    }

    private int access(long at, int ordinal) {
        MemorySegment access = arena.allocateFrom(ValueLayout.JAVA_INT, 1, ordinal, 3);
        return call("cuMemSetAccess", at, GRANULE, access, 1L);
    }

    private void unmap(long at) {
        ok(call("cuMemUnmap", at, GRANULE));
        ok(call("cuMemAddressFree", at, GRANULE));
    }

    /** Closes a descriptor as the driver's users do. */
    @SuppressWarnings("restricted")
    private static void close(int descriptor) throws Throwable {
        var linker = Linker.nativeLinker();
        var close = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("close"),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
        assertThat((int) close.invokeExact(descriptor)).isZero();
    }

    @Test
    void importedMemoryOutlivesItsHandlesAndItsDescriptor() throws Throwable {
        enter(0);
        long made = create(DESCRIPTOR);
        long here = map(made);
        ok(access(here, 0));
        ok(call("cuMemRelease", made));
        ok(call("cuMemRetainAllocationHandle", number, here));
        long retained = number.get(ValueLayout.JAVA_LONG, 0);
        ok(call("cuMemExportToShareableHandle", number, retained, DESCRIPTOR, 0L));
        int descriptor = number.get(ValueLayout.JAVA_INT, 0);
        ok(call("cuMemRelease", retained));
        ok(call("cuMemImportFromShareableHandle", number, (long) descriptor, DESCRIPTOR));
        long imported = number.get(ValueLayout.JAVA_LONG, 0);
        close(descriptor);
        long there = map(imported);
        ok(call("cuMemRelease", imported));
        assertThat(access(there, 2)).as("no peer").isEqualTo(CUresult.CUDA_ERROR_INVALID_DEVICE);
        ok(access(there, 0));
        ok(call("cuMemsetD32_v2", here, 7, 4L));
        ok(call("cuMemcpyDtoH_v2", number, there, 4L));
        assertThat(number.get(ValueLayout.JAVA_INT, 0)).isEqualTo(7);
        unmap(here);
        ok(call("cuMemcpyDtoH_v2", number, there, 4L));
        assertThat(number.get(ValueLayout.JAVA_INT, 0)).isEqualTo(7);
        unmap(there);
        assertThat(emulator.problems()).isEmpty();
    }

    /** The second handle is as another process has it, which sees what the first one does. */
    @Test
    void multicastObjectsAreShared() throws Throwable {
        emulator.tell("capability all 9 0", "multicast on");
        MemorySegment properties = arena.allocateFrom(ValueLayout.JAVA_LONG, 2, GRANULE, DESCRIPTOR, 0);
        ok(call("cuMulticastCreate", number, properties));
        long made = number.get(ValueLayout.JAVA_LONG, 0);
        ok(call("cuMemExportToShareableHandle", number, made, DESCRIPTOR, 0L));
        int descriptor = number.get(ValueLayout.JAVA_INT, 0);
        ok(call("cuMemImportFromShareableHandle", number, (long) descriptor, DESCRIPTOR));
        long imported = number.get(ValueLayout.JAVA_LONG, 0);
        close(descriptor);
        long memory = create(DESCRIPTOR);
        long here = map(memory);
        ok(call("cuMemRelease", memory));
        ok(call("cuMulticastAddDevice", made, 0));
        assertThat(call("cuMulticastAddDevice", imported, 0)).as("twice").isEqualTo(INVALID);
        assertThat(call("cuMulticastBindAddr", imported, 0L, here, GRANULE, 0L))
                .as("before all devices were added")
                .isEqualTo(INVALID);
        ok(call("cuMulticastAddDevice", imported, 1));
        long unshareable = create(0);
        long there = map(unshareable);
        ok(call("cuMemRelease", unshareable));
        assertThat(call("cuMulticastBindAddr", imported, 0L, there, GRANULE, 0L))
                .as("memory that is not shareable")
                .isEqualTo(INVALID);
        ok(call("cuMulticastBindAddr", imported, 0L, here, GRANULE, 0L));
        assertThat(call("cuMulticastBindAddr", made, 0L, here, GRANULE, 0L)).isEqualTo(INVALID);
        ok(call("cuMulticastUnbind", imported, 0, 0L, GRANULE));
        ok(call("cuMemRelease", made));
        ok(call("cuMemRelease", imported));
        unmap(here);
        unmap(there);
        assertThat(emulator.count("multicasts")).isZero();
        assertThat(emulator.problems()).isEmpty();
    }

    @Test
    void memoryWithoutATypeOfHandlesIsNotExported() {
        long made = create(0);
        assertThat(call("cuMemExportToShareableHandle", number, made, DESCRIPTOR, 0L))
                .isEqualTo(INVALID);
        assertThat(emulator.problems()).singleElement().asString().contains("made without a type of handles");
        assertThat(call("cuMemRetainAllocationHandle", number, 4096L)).isEqualTo(INVALID);
        ok(call("cuMemRelease", made));
    }

    @Test
    void otherDescriptorsAreNotImported() {
        assertThat(call("cuMemImportFromShareableHandle", number, 0L, DESCRIPTOR))
                .isEqualTo(INVALID);
        assertThat(call("cuMemImportFromShareableHandle", number, -1L, DESCRIPTOR))
                .isEqualTo(INVALID);
        assertThat(emulator.problems()).isEmpty();
    }
}
