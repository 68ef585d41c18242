package dev.banyan.kvstore;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import java.util.ArrayList;
import java.util.List;

/**
 * The work of the devices for several keys at once.
 *
 * @param sums the collectives before the updates
 * @param updates the updates
 * @param results the collectives behind the updates
 */
record Batch(List<CollectiveCall> sums, List<ParameterUpdate> updates, List<CollectiveCall> results) {
    /** Returns the batch of some transfers, the first of which goes first. */
    static Batch of(List<Transfer> transfers) {
        Batch batch = new Batch(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        transfers.forEach(transfer -> transfer.addTo(batch));
        return batch;
    }
}
