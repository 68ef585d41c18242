/** Calls the NCCL library of the machine. Other modules of Banyan use it; programs do not. */
@NullMarked
package dev.banyan.nccl.internal;

import org.jspecify.annotations.NullMarked;
