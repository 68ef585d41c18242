package dev.banyan.reduce.trace;

/** Why an operation could not begin before, by the number that files have. */
public enum DlcDependencyType {
    /** 0: it waited for nothing. */
    INDEPENDENT,
    /** 1: a push waited for a push: an acknowledgement for the gradient. */
    PUSH_ON_PUSH,
    /** 2: a pull waited for a push: a request for the acknowledgement. */
    PULL_ON_PUSH,
    /** 3: a pull waited for a pull: a value for the request. */
    PULL_ON_PULL,
    /** 4: a push waited for pulls: a gradient for the values that it was computed from. */
    PUSH_ON_PULL
}
