package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.type.DataType;

/**
 * Carries out an {@linkplain ExchangeTable exchange} whose shares are {@linkplain
 * dev.banyan.reduce.internal.sum.ReproducibleSum reproducible sums} of the numbers of all ranks.
 *
 * @param type of the numbers
 * @param ranks how many there are
 */
record SumKernel(DataType type, int ranks) implements Kernel {
    @Override
    public String name() {
        return "banyan_reproducible_" + Element.of(type).label() + "_" + ranks;
    }

    @Override
    public String ptx() {
        return new ExchangePtx(name(), Element.of(type), false, loops -> new SumLoops(loops, this).emit()).text();
    }

    @Override
    public int bytesPerThread() {
        return 16;
    }
}
