package dev.banyan.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Machine;
import dev.banyan.topology.MachineProbe;
import dev.banyan.topology.MachineProbe.Absent;
import dev.banyan.topology.MachineProbe.Unusable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every way in which a driver may refuse, through the real binding. */
class NvmlFailureTest {
    private static final Set<NvmlCall> OF_DEVICES = Set.of(NvmlCall.DEVICE, NvmlCall.NAME, NvmlCall.PCI_INFO);
    private static final Set<NvmlCall> OF_ALL =
            Set.of(NvmlCall.INIT, NvmlCall.SHUTDOWN, NvmlCall.DRIVER_VERSION, NvmlCall.DEVICE_COUNT);
    /** Asked of every device, but a device can do without the answer if it is not supported. */
    private static final Set<NvmlCall> OPTIONAL = Set.of(
            NvmlCall.MEMORY_INFO,
            NvmlCall.COMPUTE_CAPABILITY,
            NvmlCall.PCIE_GENERATION,
            NvmlCall.PCIE_WIDTH,
            NvmlCall.MIG_MODE,
            NvmlCall.MEMORY_AFFINITY);

    private static final Set<NvmlCall> OF_PAIRS = Set.of(NvmlCall.COMMON_ANCESTOR, NvmlCall.P2P_STATUS);

    @TempDir
    Path folder;

    private StandIn standIn;
    private String p3;

    @BeforeEach
    void build() {
        standIn = StandIn.in(folder);
        p3 = StandIn.machine("p3.16xlarge").replaceAll("(?m)^peer.*\n", "");
    }

    private static void assertOneSentence(String text) {
        assertThat(text).isNotBlank().doesNotContain("\n", "Exception", "null").hasSizeLessThan(400);
    }

    /** Whatever the call and the code, the answer is a machine with warnings or one sentence, and NVML is shut down. */
    @ParameterizedTest
    @EnumSource(value = NvmlReturn.class, names = "SUCCESS", mode = EnumSource.Mode.EXCLUDE)
    void everyCodeOfEveryCallIsReported(NvmlReturn value) {
        // Three of the devices, to be quick.
        String three = p3.replaceAll("(?m)^(gpu|links?) [3-7] .*\n|^level (. [3-7]|[3-7] .) .*\n", "");
        for (NvmlCall call : NvmlCall.values()) {
            standIn.play(three + "fail " + call.function.symbol() + " " + value.code() + "\n");
            MachineProbe.Answer answer = standIn.probe();
            String named = "NVML_" + value.name() + ": ";
            switch (answer) {
                case Unusable(String reason) -> {
                    assertOneSentence(reason);
                    assertThat(reason).contains(call.function.symbol() + " says " + named);
                }
                case Absent(String reason) -> {
                    assertOneSentence(reason);
                    assertThat(value).isEqualTo(NvmlReturn.ERROR_DRIVER_NOT_LOADED);
                    assertThat(reason).contains(call.function.symbol() + " says " + named);
                }
                case MachineProbe.Found(Machine machine) -> {
                    assertThat(machine.size()).isEqualTo(3);
                    machine.warnings().forEach(NvmlFailureTest::assertOneSentence);
                }
            }
            boolean unsupported =
                    value == NvmlReturn.ERROR_NOT_SUPPORTED || value == NvmlReturn.ERROR_FUNCTION_NOT_FOUND;
            boolean lost = value == NvmlReturn.ERROR_GPU_IS_LOST;
            boolean fatal = OF_ALL.contains(call)
                    || OF_DEVICES.contains(call)
                    || (OPTIONAL.contains(call) && !unsupported)
                    || lost;
            assertThat(answer instanceof MachineProbe.Found)
                    .as(call + " " + value)
                    .isEqualTo(!fatal);
            if (answer instanceof MachineProbe.Found(Machine machine) && !unsupported && OF_PAIRS.contains(call)) {
                assertThat(machine.warnings())
                        .anySatisfy(warning -> assertThat(warning).contains(named));
            }
            boolean started = call != NvmlCall.INIT;
            assertThat(standIn.calls())
                    .filteredOn(made -> made.function().equals("nvmlShutdown"))
                    .hasSize(started ? 1 : 0);
        }
    }

    /** One bad device among eight costs that device alone. */
    @ParameterizedTest
    @EnumSource(
            value = NvmlReturn.class,
            names = {
                "ERROR_NO_PERMISSION",
                "ERROR_GPU_IS_LOST",
                "ERROR_UNKNOWN",
                "ERROR_RESET_REQUIRED",
                "ERROR_OPERATING_SYSTEM"
            })
    void oneDeviceThatFailsIsLeftOut(NvmlReturn value) {
        for (NvmlCall call : OF_DEVICES) {
            Machine machine = standIn.play(p3 + "fail " + call.function.symbol() + " " + value.code() + " 3\n")
                    .found();
            assertThat(machine.devices())
                    .hasSize(7)
                    .noneMatch(device -> device.name().equals("GPU3"));
            assertThat(machine.warnings())
                    .anySatisfy(warning -> assertThat(warning)
                            .startsWith("GPU3: " + call.function.symbol() + " says NVML_" + value.name())
                            .endsWith("; the GPU is left out"))
                    .anySatisfy(warning -> assertThat(warning).contains("NVLinks lead to the GPU 0000:00:1a.0"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {31, 500, -1, 998})
    void codesThatAreNewerThanBanyanAreReported(int code) {
        standIn.play(p3 + "fail nvmlInit_v2 " + code + "\n");
        assertThat(standIn.unusable()).contains("error " + code + ", which is newer than Banyan");
    }

    @Test
    void noDriver() {
        standIn.play(p3 + "fail nvmlInit_v2 9\n");
        assertThat(standIn.absent())
                .isEqualTo(
                        "no NVIDIA driver is running: nvmlInit_v2 says NVML_ERROR_DRIVER_NOT_LOADED: the NVIDIA driver"
                                + " is not loaded; load it (modprobe nvidia), or reboot after an installation");
    }

    @Test
    void noPermission() {
        standIn.play(p3 + "fail nvmlDeviceGetHandleByIndex_v2 4\n");
        assertThat(standIn.unusable())
                .isEqualTo("none of 8 GPUs can be used: GPU0: nvmlDeviceGetHandleByIndex_v2 says"
                        + " NVML_ERROR_NO_PERMISSION: this user may not talk to the device; let the user read and write"
                        + " /dev/nvidia*, or pass the device into the container");
    }

    @Test
    void noDevices() {
        standIn.play("driver 550.54.15\n");
        assertThat(standIn.absent()).startsWith("NVIDIA driver 550.54.15 finds no GPU; ");
    }

    @Test
    void onlyPartitions() {
        standIn.play("driver 550.54.15\ngpu 0 0000:07:00.0 8 0 42505273344 0 4 16 NVIDIA A100\nmig 0\n");
        assertThat(standIn.unusable())
                .isEqualTo("the only GPU cannot be used: GPU0 is in MIG mode, whose partitions reach no other GPU; turn"
                        + " it off by nvidia-smi -i 0 -mig 0 and a reset");
    }

    @Test
    void aDeviceLostWhilePairsAreAskedForIsNamed() {
        standIn.play(p3 + "fail nvmlDeviceGetTopologyCommonAncestor 15 6\n");
        assertThat(standIn.unusable()).contains("GPU0-GPU6: nvmlDeviceGetTopologyCommonAncestor", "fallen off the bus");
    }

    @Test
    void aDeviceWithoutAnythingSupportedIsStillOne() {
        StringBuilder text = new StringBuilder("driver 550.54.15\ngpu 0 0000:07:00.0 0 0 0 0 0 0 NVIDIA Something\n");
        OPTIONAL.forEach(
                call -> text.append("fail ").append(call.function.symbol()).append(" 3\n"));
        Machine machine = standIn.play(text.toString()).found();
        assertThat(machine.size()).isEqualTo(1);
        assertThat(machine.devices().getFirst().numa()).isEqualTo(-1);
        assertThat(machine.devices().getFirst().attributes()).containsOnlyKeys("dev", "model", "nvml.driver");
        assertThat(machine.links())
                .singleElement()
                .satisfies(link -> assertThat(link.gbsAToB()).isEqualTo(12));
    }

    @Test
    void libraryThatIsNotThere() {
        MachineProbe.Answer answer =
                new NvmlProbe(folder.resolve("none.so").toString(), new LinuxFiles(folder)).probe();
        assertThat(answer)
                .isEqualTo(new Unusable("BANYAN_NVML_LIBRARY=" + folder.resolve("none.so") + " is no file;"
                        + " name the driver's libnvidia-ml.so.1 or unset it"));
    }

    @Test
    void libraryThatIsNone() throws Exception {
        Path text = Files.writeString(folder.resolve("text.so"), "no library");
        assertThat(refusal(text.toString())).contains(" is no library that can be loaded here; ");
        assertThat(refusal(folder.toString())).contains(" is no file; ");
        assertThat(refusal("\0")).contains(" is no file; ");
    }

    @Test
    void libraryOfAnotherKind() throws Exception {
        Path source = Files.writeString(folder.resolve("other.c"), "__attribute__((visibility(\"default\"))) int x;\n");
        Path library = StandIn.compile(source, folder.resolve("libother.so"));
        assertThat(refusal(library.toString())).contains("nvmlInit_v2 says NVML_ERROR_FUNCTION_NOT_FOUND");
    }

    private String refusal(String file) {
        MachineProbe.Answer answer = new NvmlProbe(file, new LinuxFiles(folder)).probe();
        assertThat(answer).isInstanceOf(Unusable.class);
        return ((Unusable) answer).reason();
    }
}
