package dev.banyan.cli.input;

import dev.banyan.cli.output.OptionGroup;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.RelayChoice;
import java.util.Locale;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option that names devices which take no part but may forward. */
public final class RelayOption extends OptionGroup {
    private static final String OTHERS = "others";
    private static final String AUTO = "auto";

    @Option(
            names = "--relays",
            paramLabel = "LIST|others|auto",
            description = "Devices of the machine that take no part but may forward for those that do, e.g. 4,6 or"
                    + " 4-7; others: all that take no part; auto: those of them that make an allreduce faster.")
    private @Nullable Relays relays;

    /**
     * Relays as they are named.
     *
     * @param list the devices, or null for all others
     * @param auto whether only those of the others count that gain something
     */
    record Relays(@Nullable DeviceList list, boolean auto) {
        static Relays parse(String value) {
            String word = value.toLowerCase(Locale.ROOT);
            if (word.equals(OTHERS) || word.equals(AUTO)) {
                return new Relays(null, word.equals(AUTO));
            }
            try {
                return new Relays(DeviceList.parse(value).distinct(), false);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(e.getMessage() + ", or " + OTHERS + ", or " + AUTO, e);
            }
        }
    }

    /** Returns whether the option was given. */
    public boolean given() {
        return relays != null;
    }

    /**
     * The relays of a group of devices; none where the option was not given, or no device is left for it.
     *
     * @throws picocli.CommandLine.ParameterException if a relay is not in the machine, or takes part itself
     */
    public int[] of(ChosenMachine chosen) {
        if (relays == null) {
            return new int[0];
        }
        int devices = chosen.whole().size();
        if (relays.auto()) {
            return RelayChoice.of(chosen)
                    .map(choice ->
                            choice.relays().stream().mapToInt(Integer::intValue).toArray())
                    .orElse(new int[0]);
        }
        if (relays.list() == null) {
            return IntStream.range(0, devices)
                    .filter(device -> !chosen.group().contains(device))
                    .toArray();
        }
        int[] indices = relays.list().indices();
        for (int relay : indices) {
            if (relay >= devices) {
                throw wrong("--relays: no device " + relay + " in "
                        + chosen.whole().name() + "; its devices are 0.." + (devices - 1));
            }
            if (chosen.group().contains(relay)) {
                throw wrong("--relays: device " + relay
                        + " takes part itself; name the devices that take part by --devices," + " without it");
            }
        }
        return indices;
    }

    /**
     * The same, but an error where all others were asked for and no device is left for it.
     *
     * @throws picocli.CommandLine.ParameterException also for that reason
     */
    public int[] required(ChosenMachine chosen) {
        int[] found = of(chosen);
        if (relays != null && !relays.auto() && found.length == 0) {
            throw wrong("--relays others: every device takes part; name those that do by --devices");
        }
        return found;
    }
}
