package dev.banyan.cuda;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.Locale;

/** A kernel; this package's documentation says what each does and takes. */
sealed interface Kernel {
    /** Threads of a block. */
    int BLOCK = 512;

    /** Name of its entry. */
    String name();

    /** Its module, as PTX text. */
    String ptx();

    /** Bytes that one thread takes at a time. */
    int bytesPerThread();

    /**
     * Combines elements.
     *
     * @param op never {@link ReduceOp#AVG}, which is a sum and a divisor
     * @param inputs number of sources, at least 2
     */
    record Reduce(ReduceOp op, Element element, int inputs) implements Kernel {
        public Reduce {
            if (op == ReduceOp.AVG || inputs < 2 || (element == Element.I128 && op != ReduceOp.SUM)) {
                throw new IllegalArgumentException("no kernel combines " + inputs + " " + element + " by " + op);
            }
        }

        @Override
        public String name() {
            return "banyan_reduce_" + op.name().toLowerCase(Locale.ROOT) + "_" + element.label() + "_" + inputs;
        }

        @Override
        public String ptx() {
            return new ReducePtx(this).text();
        }

        @Override
        public int bytesPerThread() {
            return 16;
        }
    }

    /** Makes wide sums of integers. */
    record Widen(DataType type) implements Kernel {
        @Override
        public String name() {
            return "banyan_widen_" + Element.of(type).label();
        }

        @Override
        public String ptx() {
            return WidePtx.widen(this);
        }

        @Override
        public int bytesPerThread() {
            return type.bytes();
        }
    }

    /** Makes means of wide sums. */
    record Mean(DataType type) implements Kernel {
        @Override
        public String name() {
            return "banyan_mean_" + Element.of(type).label();
        }

        @Override
        public String ptx() {
            return WidePtx.mean(this);
        }

        @Override
        public int bytesPerThread() {
            return type.bytes();
        }
    }
}
