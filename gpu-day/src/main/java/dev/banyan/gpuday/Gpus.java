package dev.banyan.gpuday;

import java.util.List;

/** All GPUs of this process; closing them frees what was made on them. */
record Gpus(List<Gpu> list) implements AutoCloseable {
    /** @throws dev.banyan.cuda.type.CudaException if there is no driver or no device */
    static Gpus open() {
        return new Gpus(Gpu.all());
    }

    Gpu first() {
        return list.getFirst();
    }

    @Override
    public void close() {
        list.forEach(Gpu::close);
    }
}
