package dev.banyan.cuda;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.driver.CudaLibrary;
import dev.banyan.cuda.internal.driver.LaunchOrder;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.internal.peer.PeerTrials;
import dev.banyan.cuda.internal.peer.StoreTrials;

/** Plays processes that use the emulated driver one after the other. */
public final class EmulatedProcess {
    private EmulatedProcess() {}

    /** Returns the emulated driver in its first state, with the bindings loaded. */
    public static CudaEmulator begin() {
        CudaEmulator emulator = CudaEmulator.load();
        CudaLibrary.load();
        forget();
        return emulator;
    }

    /** Plays the end of this process and the begin of another one. */
    public static void beginAnother(CudaEmulator emulator) {
        emulator.reset();
        forget();
    }

    private static void forget() {
        ProcessFault.forget();
        PeerTrials.forget();
        StoreTrials.forget();
        LaunchOrder.forget();
        LivingBackends.forgetAll();
    }
}
