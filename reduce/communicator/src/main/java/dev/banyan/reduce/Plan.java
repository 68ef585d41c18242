package dev.banyan.reduce;

import dev.banyan.reduce.backend.Executable;

/**
 * A call that is ready to run.
 *
 * @param algorithm the algorithm, for recordings
 * @param executable runs the call
 */
record Plan(String algorithm, Executable executable) {}
