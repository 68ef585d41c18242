package dev.banyan.study.measured;

import dev.banyan.InputException;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.measured.sweep.MeasuredSweep;
import dev.banyan.study.measured.sweep.SweepRun;
import dev.banyan.study.text.AssumptionText;
import dev.banyan.topology.Device;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.GpuProduct;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Joins what a sweep says about its own run with what its user states. The file comes first; options need only what it
 * leaves open, and a contradiction is refused.
 */
public final class OwnSweep {
    private final MeasuredSweep sweep;
    private final SweepRun run;
    private final Stated stated;
    private final List<String> remarks = new ArrayList<>();

    /**
     * The statements of a user.
     *
     * @param collective what was measured, if it is stated
     * @param devicesPerProcess how many devices one process drove, if it is stated
     * @param transport what joined devices without NVLink, if it is stated
     * @param hasDevices whether the machine is reduced to stated devices
     * @param log what NCCL printed in the same run, if it is known
     */
    public record Stated(
            Optional<Collective> collective,
            Optional<Integer> devicesPerProcess,
            Optional<Transport> transport,
            boolean hasDevices,
            Optional<NcclLog> log) {
        /** Leaves all to the file and the machine. */
        public static final Stated NOTHING =
                new Stated(Optional.empty(), Optional.empty(), Optional.empty(), false, Optional.empty());

        Stated with(Optional<NcclLog> printed) {
            return new Stated(collective, devicesPerProcess, transport, hasDevices, printed);
        }
    }

    private OwnSweep(MeasuredSweep sweep, Stated stated) {
        this.sweep = sweep;
        this.stated = stated;
        run = sweep.run();
        remarks.addAll(run.remarks());
    }

    /**
     * Returns on what a sweep was measured.
     *
     * @param name of the sweep in reports
     * @param machine what the user names, reduced to stated devices
     * @throws InputException if the sweep is not of this machine, contradicts what is stated, or is no measurement
     */
    public static PublishedSweep of(String name, MeasuredSweep sweep, Machine machine, Stated stated) {
        return new OwnSweep(sweep, stated).setting(name, machine);
    }

    private InputException wrong(String problem) {
        return new InputException(sweep.source(), sweep.line(), 0, problem);
    }

    private PublishedSweep setting(String name, Machine whole) {
        refuseSeparateProcesses();
        Collective collective = collective();
        Machine machine = machine(whole, collective);
        remarkModel(whole);
        int perProcess = devicesPerProcess(machine);
        Transport transport = transport(machine);
        return new PublishedSweep(
                name,
                machine,
                transport,
                collective,
                perProcess,
                PublishedSweeps.find(name)
                        .filter(published -> published.collective() == collective
                                && published.machine().size() == machine.size())
                        .flatMap(PublishedSweep::seen),
                PublishedSweep.OWN,
                String.join(". ", remarks));
    }

    /** Processes that MPI does not join run alone, each as rank 0. */
    private void refuseSeparateProcesses() {
        boolean isAlone = !run.ranks().isEmpty() && run.rankCount() == 1;
        if (isAlone || (run.rates().isKnown() && run.rates().factor() < 0.01)) {
            throw wrong((run.ranks().size() > 1
                            ? "the header names rank 0 " + run.ranks().size() + " times"
                            : isAlone ? "the header names one rank" : "busbw is 0")
                    + ", so that each process ran alone and exchanged nothing; nccl-tests were built without MPI:"
                    + " rebuild them with make MPI=1 MPI_HOME=/path/to/mpi, or run one process with -g N");
        }
    }

    private Collective collective() {
        String option = stated.collective().map(Collective::label).orElse("");
        Optional<String> layout = run.layout().filter(shown -> !shown.equals(SweepRun.GATHER_OR_ALLTOALL));
        Optional<String> named = run.program().or(() -> layout);
        if (run.program().isPresent()
                && layout.isPresent()
                && isOfBanyan(run.program().get())
                && !run.program().equals(layout)) {
            throw wrong("the header names " + run.program().get() + ", but columns and rates are those of "
                    + layout.get() + "; give the output of one run as it was printed");
        }
        if (named.isEmpty()) {
            if (option.isEmpty() && run.layout().isPresent()) {
                throw wrong("no results are checked, and so the columns are those of all_gather and of alltoall; give"
                        + " the output with its command, or state --collective all_gather");
            }
            if (option.isEmpty()) {
                remarks.add("Assumed: all_reduce, since the file names no collective; --collective sets another one");
            }
            return stated.collective().orElse(Collective.ALL_REDUCE);
        }
        if (!isOfBanyan(named.get())) {
            throw wrong(named.get() + " is no collective of Banyan; give a sweep of all_reduce, all_gather,"
                    + " reduce_scatter, broadcast or reduce");
        }
        if (!option.isEmpty() && !option.equals(named.get())) {
            throw wrong("--collective is " + option + ", but "
                    + (run.program().isPresent() ? "the file names " : "columns and rates are those of ") + named.get()
                    + "; leave the option out");
        }
        if (run.program().isEmpty() && option.isEmpty()) {
            remarks.add("Read from columns and rates: the collective is " + named.get());
        }
        return find(named.get()).orElseThrow();
    }

    private static boolean isOfBanyan(String name) {
        return find(name).isPresent();
    }

    private static Optional<Collective> find(String name) {
        for (Collective collective : Collective.values()) {
            if (collective.label().equals(name)) {
                return Optional.of(collective);
            }
        }
        return Optional.empty();
    }

    private Machine machine(Machine whole, Collective collective) {
        SweepDevices devices = new SweepDevices(run, whole);
        int count = run.rankCount() > 0 ? run.rankCount() : whole.size();
        devices.contradiction().ifPresent(problem -> {
            throw wrong(problem);
        });
        // Wrong results are reported in any case, and no speed beside them.
        Optional<String> unlike =
                run.wrong().isWrong() ? Optional.empty() : run.rates().against(collective.label(), count);
        unlike.ifPresent(problem -> {
            throw wrong((run.rankCount() > 0
                            ? "the header names " + count + " ranks, but "
                            : whole.name() + " has " + count + " devices, but ")
                    + problem + "; "
                    + (run.rankCount() > 0
                            ? "give the output of one run as it was printed"
                            : "name the devices that took part by --machine and --devices"));
        });
        stated.log().filter(log -> log.ranks() > 0 && log.ranks() != count).ifPresent(log -> {
            throw wrong("the sweep has " + count + " ranks and the log " + log.source() + " has " + log.ranks()
                    + "; give the log of the same run");
        });
        if (count == whole.size()) {
            return whole;
        }
        if (stated.hasDevices()) {
            throw wrong("--devices or -g names " + whole.size() + " devices, but the header names " + count
                    + " ranks; leave the option out");
        }
        int[] group = devices.group()
                .orElseThrow(() -> wrong("the header names " + count + " ranks, but not which of the " + whole.size()
                        + " devices of " + whole.name() + "; name them by --devices"));
        Machine machine = whole.subset(group);
        remarks.add("The header names " + count + " ranks: "
                + machine.devices().stream().map(device -> device.name()).collect(Collectors.joining(", ")) + " of "
                + whole.name());
        return machine;
    }

    /** A description of links alone gets usual speeds, where those of the model may be others. */
    private void remarkModel(Machine whole) {
        if (!namesModels(whole)
                && AssumptionText.hasSpeeds(whole.assumed())
                && run.models().size() == 1) {
            String model = run.models().getFirst();
            GpuProduct.of(model)
                    .ifPresent(_ -> remarks.add("The description does not name its GPUs, whose links are assumed to be"
                            + " usual ones; --gpu \"" + model + "\", which the header names, sets their speeds"));
        }
    }

    private static boolean namesModels(Machine machine) {
        return machine.devices().stream()
                .map(Device::attributes)
                .anyMatch(all -> all.containsKey("model") || all.containsKey("sm"));
    }

    private int devicesPerProcess(Machine machine) {
        int own = run.devicesPerProcess();
        if (own > machine.size()) {
            throw wrong("the header names " + own + " devices of each process, but " + machine.name() + " has "
                    + machine.size() + "; name the machine that it ran on");
        }
        if (own > 0) {
            stated.devicesPerProcess().filter(given -> given != own).ifPresent(given -> {
                throw wrong("--devices-per-process is " + given + ", but the header names " + own
                        + (own == 1 ? " device" : " devices") + " of each process; leave the option out");
            });
            return own;
        }
        if (stated.devicesPerProcess().isEmpty()) {
            remarks.add("Assumed: a process for each GPU, since the file names no ranks; --devices-per-process sets"
                    + " another number");
        }
        return stated.devicesPerProcess().orElse(1);
    }

    private Transport transport(Machine machine) {
        Optional<Transport> logged = stated.log().flatMap(OwnSweep::logged);
        if (logged.isPresent()) {
            stated.transport().filter(given -> given != logged.get()).ifPresent(given -> {
                throw wrong("--transport is " + label(given) + ", but by the log data go "
                        + (logged.get() == Transport.HOST ? "through the host (SHM or NET)" : "peer to peer (P2P)")
                        + "; leave the option out");
            });
            return logged.get();
        }
        if (stated.transport().isPresent()) {
            return stated.transport().get();
        }
        Optional<String> model = run.models().stream()
                .filter(name -> GpuProduct.of(name)
                        .filter(GpuProduct::refusesPeerAccess)
                        .isPresent())
                .findFirst();
        if (model.isPresent() && SimulatedNccl.hasNoFastLinks(machine)) {
            remarks.add("Assumed: no peer access, which NVIDIA's driver forbids between " + model.get()
                    + "; --transport peer says otherwise");
            return Transport.HOST;
        }
        Transport described = SimulatedNccl.transport(machine);
        if (described == Transport.PEER && !namesModels(machine) && SimulatedNccl.hasNoFastLinks(machine)) {
            remarks.add("Assumed: data go peer to peer, since neither the file nor the description names the GPUs;"
                    + " --gpu, --log or --transport states what is so");
        }
        return described;
    }

    private static String label(Transport transport) {
        return transport == Transport.HOST ? "host" : "peer";
    }

    /** The transport of all hops; empty where the log has none, or both. */
    private static Optional<Transport> logged(NcclLog log) {
        boolean hasPeer = log.hops().values().stream().anyMatch(way -> way.startsWith("P2P"));
        boolean hasOther = log.hops().values().stream().anyMatch(way -> !way.startsWith("P2P"));
        return hasPeer == hasOther ? Optional.empty() : Optional.of(hasPeer ? Transport.PEER : Transport.HOST);
    }
}
