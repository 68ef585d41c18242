package dev.banyan.study.export;

import dev.banyan.simulate.Profile;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;

/** A machine whose links have the speeds that large copies reach, by a profile's constants. */
final class CopySpeeds {
    private CopySpeeds() {}

    /** Returns the machine with each link's GB/s times the part that copies reach of its kind of link. */
    static Machine of(Machine machine, Profile profile) {
        return new Machine(
                machine.name(),
                machine.devices(),
                machine.hubs(),
                machine.links().stream()
                        .map(link -> slower(link, profile.efficiency(link.kind())))
                        .toList(),
                machine.nics(),
                machine.warnings());
    }

    private static Link slower(Link link, double part) {
        return new Link(
                link.a(),
                link.b(),
                link.kind(),
                link.lanes(),
                part * link.gbsAToB(),
                part * link.gbsBToA(),
                link.latencyUs());
    }
}
