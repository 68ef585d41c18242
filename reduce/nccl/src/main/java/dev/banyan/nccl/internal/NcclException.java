package dev.banyan.nccl.internal;

/** NCCL cannot be used, or a call of it failed. The message is one sentence. */
public final class NcclException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NcclException(String message) {
        super(message);
    }

    NcclException(String message, Throwable cause) {
        super(message, cause);
    }
}
