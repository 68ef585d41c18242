package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CudaDevice;
import java.util.List;
import java.util.function.Function;
import jcuda.driver.CUstream;

/** Pieces of the memory of devices that device programs share. Safe for use from any thread. */
public interface ProgramPieces {
    /**
     * Adds a piece, which is 0 at first and lasts until {@link #free}.
     *
     * @param place of the device in whose memory it lies
     * @param bytes its length
     * @param lines whether it holds lines
     * @return its number
     */
    int add(int place, long bytes, boolean lines);

    /** Returns how long a piece should at least be, in bytes, as shorter ones take as much memory. */
    long leastBytes();

    /**
     * Makes all pieces known to all processes, if there are several.
     *
     * @param what they are for, the same in all processes
     */
    void share(String what);

    /** Returns where a shared piece begins as a device of this process sees it. */
    long address(int piece, CudaDevice viewer);

    /** Returns whether {@link #multicast} may give addresses, in all processes alike. */
    boolean multicasts();

    /**
     * Makes addresses by which the switch reaches shared pieces, in all processes or in none. No ranks share a place.
     *
     * @param ofPlaces a piece of each place, all of one length
     * @param what they are for, the same in all processes
     * @return the address, or 0 if there is none
     */
    long multicast(List<Integer> ofPlaces, String what);

    /** Clears all lines of this process's devices, behind what is in their streams. */
    void clearLines(Function<CudaDevice, CUstream> streams);

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    List<Integer> free();
}
