/** {@code banyan diagnose}: what a sweep or a log of NCCL says about the machine. */
@NullMarked
package dev.banyan.cli.diagnose;

import org.jspecify.annotations.NullMarked;
