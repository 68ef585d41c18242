package dev.banyan.cli.bench;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.Config;
import dev.banyan.topology.Machine;

/** Communicators of the host backend. */
final class Communicators {
    private Communicators() {}

    /** One that does everything with the given algorithm, set up by the user's configuration otherwise. */
    static Communicator open(Machine machine, AlgorithmChoice algorithm) {
        return Communicator.create(machine, Config.builder().algorithm(algorithm).load());
    }
}
