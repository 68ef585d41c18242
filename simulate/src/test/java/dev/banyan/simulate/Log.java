package dev.banyan.simulate;

import java.util.ArrayList;
import java.util.List;

/** Records the transfers and reductions of a simulation, by start. */
final class Log implements SimulationListener {
    final List<Transfer> transfers = new ArrayList<>();
    final List<Reduction> reductions = new ArrayList<>();
    /** Both in the order in which they were heard of. */
    final List<Record> all = new ArrayList<>();

    @Override
    public void transferred(Transfer transfer) {
        transfers.add(transfer);
        all.add(transfer);
    }

    @Override
    public void reduced(Reduction reduction) {
        reductions.add(reduction);
        all.add(reduction);
    }
}
