package dev.banyan.simulate;

import dev.banyan.topology.Link;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/**
 * The constants of a class of machines, each with its source. Together with a {@linkplain
 * dev.banyan.trees.network.Network network} they are all that the simulator knows of the hardware.
 * Immutable and safe for use from any thread.
 *
 * @param name what the class is called, e.g. {@code v100-nvlink}
 * @param constants a value for every {@link Constant}
 */
public record Profile(String name, Map<Constant, Value> constants) {
    /**
     * A constant's value, and where nobody measured it the range in which it is assumed to be.
     *
     * @param value in the unit that the constant states
     * @param low no greater than {@code value}
     * @param high no less than {@code value}
     * @param source where it comes from, for people
     */
    public record Value(double value, double low, double high, String source) {
        /** @throws IllegalArgumentException if the value is not in the range */
        public Value {
            Objects.requireNonNull(source, "source");
            if (low > value || high < value) {
                throw new IllegalArgumentException(value + " is not from " + low + " to " + high);
            }
        }

        /** A value without a range. */
        public Value(double value, String source) {
            this(value, value, value, source);
        }

        /** Returns whether there is a range. */
        public boolean isRange() {
            return low < high;
        }
    }

    /**
     * @throws IllegalArgumentException if a constant has no value or an impossible one
     */
    public Profile {
        Objects.requireNonNull(name, "name");
        EnumMap<Constant, Value> copy = new EnumMap<>(Constant.class);
        copy.putAll(constants);
        for (Constant constant : Constant.values()) {
            Value value = copy.get(constant);
            if (value == null) {
                throw new IllegalArgumentException("profile " + name + " has no value for " + constant.key());
            }
            for (double each : new double[] {value.value(), value.low(), value.high()}) {
                if (!constant.allows(each)) {
                    throw new IllegalArgumentException(constant.key() + " of profile " + name + " is " + each
                            + "; it must be " + constant.allowed());
                }
            }
        }
        constants = Collections.unmodifiableMap(copy);
    }

    /** Value of a constant. */
    public double get(Constant constant) {
        return Objects.requireNonNull(constants.get(constant)).value();
    }

    /** Returns the source of a constant's value. */
    public String source(Constant constant) {
        return Objects.requireNonNull(constants.get(constant)).source();
    }

    /** Fraction of a link's nominal bandwidth that large copies reach. */
    public double efficiency(Link.Kind kind) {
        return get(Constant.efficiencyOf(kind));
    }

    /** Latency of a hop beyond what the machine says of the link, in us; may be negative. */
    public double hopUs(Link.Kind kind) {
        return get(Constant.hopOf(kind));
    }

    /** Loss per further transfer at once; 0 for links that no hub shares out. */
    public double queueing(Link.Kind kind) {
        return switch (kind) {
            case NVLINK, XGMI, OTHER -> 0;
            case PCIE -> get(Constant.PCIE_QUEUEING);
            case SOCKET -> get(Constant.SOCKET_QUEUEING);
        };
    }

    /** Returns the same profile with that end of each range that makes calls faster. */
    public Profile fastest() {
        return ends(true);
    }

    /** Returns the same profile with that end of each range that makes calls slower. */
    public Profile slowest() {
        return ends(false);
    }

    private Profile ends(boolean fast) {
        Map<Constant, Value> changed = new EnumMap<>(constants);
        changed.replaceAll((constant, value) ->
                new Value(constant.moreIsFaster() == fast ? value.high() : value.low(), value.source()));
        return new Profile(name, changed);
    }

    /**
     * The same profile with another value for one constant.
     *
     * @throws IllegalArgumentException if the value is impossible
     */
    public Profile with(Constant constant, double value, String source) {
        Map<Constant, Value> changed = new EnumMap<>(constants);
        changed.put(constant, new Value(value, source));
        return new Profile(name, changed);
    }
}
