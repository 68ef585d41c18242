package dev.banyan.cuda.internal.driver;

import dev.banyan.cuda.internal.ptx.Kernel;
import java.lang.ref.SoftReference;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps the modules of kernels, as each device and each communicator loads the same ones: at most one for each type,
 * operation and number of sources. The garbage collector may take a text back, which is then made anew. Safe for use
 * from any thread.
 */
final class KernelTexts {
    private static final Map<Kernel, SoftReference<byte[]>> TEXTS = new ConcurrentHashMap<>();

    private KernelTexts() {}

    /** Returns the module of a kernel as the driver takes it: PTX text and a zero. Callers must not change it. */
    static byte[] of(Kernel kernel) {
        SoftReference<byte[]> kept = TEXTS.get(kernel);
        byte[] text = kept == null ? null : kept.get();
        if (text == null) {
            text = (kernel.ptx() + "\0").getBytes(StandardCharsets.US_ASCII);
            TEXTS.put(kernel, new SoftReference<>(text));
        }
        return text;
    }
}
