package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.type.ReduceOp;
import java.util.Locale;

/**
 * Carries out an {@linkplain ExchangeTable exchange}: all ranks meet, each loads from the buffers of all and stores to
 * them, and they meet again. It takes the parameters of device programs. A block has {@value #THREADS} threads.
 *
 * @param op never {@link ReduceOp#AVG}, which is a sum and a divisor
 */
record ExchangeKernel(ReduceOp op, Element element) implements Kernel {
    static final int THREADS = 512;

    @Override
    public String name() {
        return "banyan_exchange_" + op.name().toLowerCase(Locale.ROOT) + "_" + element.label();
    }

    @Override
    public String ptx() {
        return new ExchangePtx(this).text();
    }

    @Override
    public int bytesPerThread() {
        return 16;
    }
}
