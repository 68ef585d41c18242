package dev.banyan.cli.input;

import java.util.Locale;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option that names devices which take no part but may forward. */
public final class RelayOption {
    private static final String OTHERS = "others";

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    @Option(
            names = "--relays",
            paramLabel = "LIST|others",
            description = "Devices of the machine that take no part but may forward for those that do, e.g. 4,6 or"
                    + " 4-7; others: all that take no part.")
    private @Nullable Relays relays;

    /**
     * Relays as they are named.
     *
     * @param list the devices, or null for all others
     */
    record Relays(@Nullable DeviceList list) {
        static Relays parse(String value) {
            if (value.toLowerCase(Locale.ROOT).equals(OTHERS)) {
                return new Relays(null);
            }
            try {
                return new Relays(DeviceList.parse(value).distinct());
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(e.getMessage() + ", or " + OTHERS, e);
            }
        }
    }

    /** Whether the option was given. */
    public boolean given() {
        return relays != null;
    }

    /**
     * The relays of a group of devices; none where the option was not given, or no device is left for it.
     *
     * @throws ParameterException if a relay is not in the machine, or takes part itself
     */
    public int[] of(ChosenMachine chosen) {
        if (relays == null) {
            return new int[0];
        }
        int devices = chosen.whole().size();
        if (relays.list() == null) {
            return IntStream.range(0, devices)
                    .filter(device -> !chosen.group().contains(device))
                    .toArray();
        }
        int[] indices = relays.list().indices();
        for (int relay : indices) {
            if (relay >= devices) {
                throw refused("no device " + relay + " in " + chosen.whole().name() + "; its devices are 0.."
                        + (devices - 1));
            }
            if (chosen.group().contains(relay)) {
                throw refused("device " + relay + " takes part itself; name the devices that take part by --devices,"
                        + " without it");
            }
        }
        return indices;
    }

    /**
     * The same, but an error where the option was given and no device is left for it.
     *
     * @throws ParameterException also for that reason
     */
    public int[] required(ChosenMachine chosen) {
        int[] found = of(chosen);
        if (relays != null && found.length == 0) {
            throw new ParameterException(
                    spec.commandLine(), "--relays others: every device takes part; name those that do by --devices");
        }
        return found;
    }

    private ParameterException refused(String why) {
        return new ParameterException(spec.commandLine(), "--relays: " + why);
    }
}
