package dev.banyan.msccl;

import java.util.List;

/**
 * Steps that a GPU executes one after the other.
 *
 * @param id index among the GPU's threadblocks
 * @param send rank that its sends go to, or -1
 * @param receive rank that its receives come from, or -1
 * @param channel channel of both connections
 * @param operations the steps in their order
 */
record Threadblock(int id, int send, int receive, int channel, List<Operation> operations) {
    Threadblock {
        operations = List.copyOf(operations);
    }
}
