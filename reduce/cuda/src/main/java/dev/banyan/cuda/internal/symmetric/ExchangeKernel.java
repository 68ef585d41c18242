package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.type.ReduceOp;
import java.util.Locale;

/**
 * Carries out an {@linkplain ExchangeTable exchange}: all ranks meet, each loads from the buffers or the stages of all
 * and stores to them, and they meet again. It takes the parameters of device programs. A block has whole warps, up to
 * {@value #MOST_THREADS} threads.
 *
 * @param op never {@link ReduceOp#AVG}, which is a sum and a divisor
 * @param multicast whether it takes multicast addresses, too, for which it needs sm_90
 */
record ExchangeKernel(ReduceOp op, Element element, boolean multicast) implements Kernel {
    static final int MOST_THREADS = 512;

    @Override
    public String name() {
        return (multicast ? "banyan_multicast_" : "banyan_exchange_")
                + op.name().toLowerCase(Locale.ROOT) + "_" + element.label();
    }

    @Override
    public String ptx() {
        return new ExchangePtx(name(), element, multicast, loops -> new ExchangeLoops(loops, this).emit()).text();
    }

    @Override
    public int bytesPerThread() {
        return 16;
    }
}
