package dev.banyan.cuda.internal.symmetric;

import java.util.List;

/**
 * Memory that is open to all devices, through which exchanges take data of buffers that are not. Each rank has a part
 * in its memory, of which each block has its own part, so that only the blocks of one number need to wait for each
 * other.
 *
 * @param addresses where the part of each rank begins, as the devices of this process see it
 * @param multicast the address of all parts in the switch, or 0 if there is none
 * @param bytesOfABlock of each rank
 */
record Stage(List<Long> addresses, long multicast, int bytesOfABlock) {
    Stage {
        addresses = List.copyOf(addresses);
    }
}
