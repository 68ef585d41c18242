package dev.banyan.nvml;

import java.util.Arrays;

/** The return codes of NVML ({@code nvmlReturn_t}), each with its meaning and a remedy. */
enum NvmlReturn {
    SUCCESS(0, "the call succeeded", "nothing needs to be done"),
    ERROR_UNINITIALIZED(1, "the library was not initialized", "report this: Banyan called it in the wrong order"),
    ERROR_INVALID_ARGUMENT(2, "an argument is not valid", "report this with the driver's version"),
    ERROR_NOT_SUPPORTED(
            3, "the device does not support the query", "use a newer driver, or describe the machine by --machine"),
    ERROR_NO_PERMISSION(
            4,
            "this user may not talk to the device",
            "let the user read and write /dev/nvidia*, or pass the device into the container"),
    ERROR_ALREADY_INITIALIZED(5, "the library was initialized twice", "report this with the driver's version"),
    ERROR_NOT_FOUND(6, "the object was not found", "see whether nvidia-smi shows it"),
    ERROR_INSUFFICIENT_SIZE(7, "a buffer is too small", "report this with the driver's version"),
    ERROR_INSUFFICIENT_POWER(8, "a power cable of the device is not attached", "attach it"),
    ERROR_DRIVER_NOT_LOADED(
            9, "the NVIDIA driver is not loaded", "load it (modprobe nvidia), or reboot after an installation"),
    ERROR_TIMEOUT(10, "the driver did not answer in time", "see dmesg for Xid errors and try again"),
    ERROR_IRQ_ISSUE(11, "the kernel has an interrupt problem with a device", "see dmesg for it"),
    ERROR_LIBRARY_NOT_FOUND(12, "a library of the driver is missing", "install the driver again"),
    ERROR_FUNCTION_NOT_FOUND(13, "the driver's library is too old to know this call", "install driver 450 or newer"),
    ERROR_CORRUPTED_INFOROM(14, "the device's infoROM is corrupted", "have the board repaired"),
    ERROR_GPU_IS_LOST(
            15,
            "the GPU has fallen off the bus",
            "reboot, and if it happens again have the board, its power and its slot checked"),
    ERROR_RESET_REQUIRED(16, "the GPU must be reset", "run nvidia-smi --gpu-reset, or reboot"),
    ERROR_OPERATING_SYSTEM(
            17,
            "the operating system blocks the GPU's device file",
            "allow it in the control group of the job or container"),
    ERROR_LIB_RM_VERSION_MISMATCH(
            18,
            "the library and the loaded driver are of different versions",
            "reboot, or load the driver that was installed last"),
    ERROR_IN_USE(19, "the GPU is in use", "try again when it is free"),
    ERROR_MEMORY(20, "the driver is out of memory", "free memory and try again"),
    ERROR_NO_DATA(21, "there is no data", "try again later"),
    ERROR_VGPU_ECC_NOT_SUPPORTED(22, "virtual GPUs do not work with ECC", "turn ECC off (nvidia-smi -e 0)"),
    ERROR_INSUFFICIENT_RESOURCES(23, "the driver has run out of resources", "end other GPU programs and try again"),
    ERROR_FREQ_NOT_SUPPORTED(24, "the frequency is not supported", "report this with the driver's version"),
    ERROR_ARGUMENT_VERSION_MISMATCH(
            25, "a structure's version is not supported", "report this with the driver's version"),
    ERROR_DEPRECATED(26, "the call no longer works", "report this with the driver's version"),
    ERROR_NOT_READY(
            27, "the system is not ready", "wait until the driver and nvidia-fabricmanager are up, then try again"),
    ERROR_GPU_NOT_FOUND(28, "no GPU was found", "see whether lspci shows it"),
    ERROR_INVALID_STATE(29, "the resource is in the wrong state", "see dmesg for Xid errors and try again"),
    ERROR_RESET_TYPE_NOT_SUPPORTED(30, "this kind of reset is not supported", "reboot"),
    ERROR_UNKNOWN(999, "the driver has failed within", "see dmesg for Xid errors, then reboot");

    private final int code;
    private final String meaning;
    private final String remedy;

    NvmlReturn(int code, String meaning, String remedy) {
        this.code = code;
        this.meaning = meaning;
        this.remedy = remedy;
    }

    /** Returns the number in {@code nvml.h}. */
    int code() {
        return code;
    }

    /** Returns the name, the meaning and the remedy of a code, even of an unknown code. */
    static String explain(int code) {
        return Arrays.stream(values())
                .filter(value -> value.code == code)
                .findFirst()
                .map(value -> "NVML_" + value.name() + ": " + value.meaning + "; " + value.remedy)
                .orElse("error " + code + ", which is newer than Banyan; see whether nvidia-smi works, or describe the"
                        + " machine by --machine");
    }
}
