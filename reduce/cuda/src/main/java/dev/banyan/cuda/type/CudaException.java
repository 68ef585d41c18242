package dev.banyan.cuda.type;

import dev.banyan.BanyanException;

/**
 * CUDA cannot be used, or a call or a step failed. The message names the device, what was done there and
 * CUDA's error.
 */
public final class CudaException extends BanyanException {
    private static final long serialVersionUID = 1L;

    public CudaException(String message) {
        super(message);
    }

    public CudaException(String message, Throwable cause) {
        super(message, cause);
    }
}
