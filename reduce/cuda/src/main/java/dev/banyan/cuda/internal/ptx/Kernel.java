package dev.banyan.cuda.internal.ptx;

import dev.banyan.reduce.internal.sum.SumPass;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.Locale;

/** A kernel; this package's documentation says what each does and takes. */
public interface Kernel {
    /** Threads of a block. */
    int BLOCK = 512;

    /** Limits of a launch of the element-wise kernels. */
    String LIMITS = ".maxntid " + BLOCK + ", 1, 1";

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

    /**
     * Runs the loops of a {@linkplain ProgramTable device program}. A block has T workers, a multiple of 32 in
     * 32..512, and {@link #POSTING_THREADS} threads that post flags.
     *
     * @param op never {@link ReduceOp#AVG}, which is a sum and a divisor
     */
    record Program(ReduceOp op, Element element) implements Kernel {
        /** Threads behind the workers that post flags. */
        public static final int POSTING_THREADS = 32;

        public static final int MOST_WORKERS = 512;
        /** A kernel takes the buffers of at most so many ranks. */
        public static final int MOST_RANKS = 16;
        /** Parameters that are addresses of buffers: the inputs of all ranks, then their outputs. */
        public static final int BUFFERS = 2 * MOST_RANKS;
        /** A launch adds it to the number of its set of slots if these slots are known to be free. */
        public static final int FREE = 2;

        public Program {
            if (op == ReduceOp.AVG || (element == Element.I128 && op != ReduceOp.SUM)) {
                throw new IllegalArgumentException("no kernel combines " + element + " by " + op);
            }
        }

        @Override
        public String name() {
            return "banyan_program_" + op.name().toLowerCase(Locale.ROOT) + "_" + element.label();
        }

        @Override
        public String ptx() {
            return new ProgramPtx(this).text();
        }

        @Override
        public int bytesPerThread() {
            return 16;
        }
    }

    /** Tries whether stores and flags reach another device, and its own reach this one. It has one block. */
    record StoreTrial() implements Kernel {
        /** Bytes that it stores; a multiple of 16 for each thread. */
        public static final int DATA_BYTES = 64 << 10;
        /** Offset in the control block of the value of the last trial that has begun. */
        public static final int BEGUN = 0;
        /** Offset in the control block of a word that ends the trial if it is not 0. */
        public static final int ABORT = 8;

        @Override
        public String name() {
            return "banyan_store_trial";
        }

        @Override
        public String ptx() {
            return new StoreTrialPtx().text(name());
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

    /** Updates values by their gradients. */
    record Update(Rule rule, DataType type) implements Kernel {
        /** The rule by which an update changes an element. */
        public enum Rule {
            SGD,
            SGD_MOMENTUM,
            ADAM,
            ADAM_W;

            public static Rule of(Optimizer optimizer) {
                return switch (optimizer) {
                    case Optimizer.Sgd sgd -> sgd.moments() == 0 ? SGD : SGD_MOMENTUM;
                    case Optimizer.Adam adam -> adam.decoupled() ? ADAM_W : ADAM;
                };
            }
        }

        @Override
        public String name() {
            return "banyan_update_" + rule.name().toLowerCase(Locale.ROOT) + "_"
                    + Element.of(type).label();
        }

        @Override
        public String ptx() {
            return new UpdatePtx(this).text();
        }

        @Override
        public int bytesPerThread() {
            return type.bytes();
        }
    }

    /**
     * Runs a pass of reproducible sums.
     *
     * @param isWide whether integers have 64 bits
     */
    record Sum(SumPass.Stage stage, DataType type, boolean isWide) implements Kernel {
        @Override
        public String name() {
            return "banyan_sum_" + stage.name().toLowerCase(Locale.ROOT) + "_"
                    + Element.of(type).label() + (isWide ? "_64" : "_32");
        }

        @Override
        public String ptx() {
            return SumPtx.pass(this);
        }

        @Override
        public int bytesPerThread() {
            return type.bytes();
        }
    }
}
