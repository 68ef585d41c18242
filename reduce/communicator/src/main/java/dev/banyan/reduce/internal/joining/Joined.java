package dev.banyan.reduce.internal.joining;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.topology.Machine;

/**
 * A backend of one process of a job.
 *
 * @param backend has the ranks of this process
 * @param machine with a device for each rank of all processes, in their order
 */
public record Joined(Backend backend, Machine machine) {}
