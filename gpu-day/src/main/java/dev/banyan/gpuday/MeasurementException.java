package dev.banyan.gpuday;

import dev.banyan.BanyanException;

/** A measurement failed. The message names the device, what was done there and CUDA's error. */
public final class MeasurementException extends BanyanException {
    private static final long serialVersionUID = 1;

    MeasurementException(String message) {
        super(message);
    }
}
