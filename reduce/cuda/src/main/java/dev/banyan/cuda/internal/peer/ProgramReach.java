package dev.banyan.cuda.internal.peer;

/** The ranks whose kernels may store to memory of each other's devices. */
public interface ProgramReach {
    /** Returns whether kernels on the device of one rank reach flags and slots on the device of another rank. */
    boolean reaches(int fromRank, int toRank);
}
