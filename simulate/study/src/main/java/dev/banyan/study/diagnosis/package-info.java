/** Findings from sweeps and logs of NCCL. */
@NullMarked
package dev.banyan.study.diagnosis;

import org.jspecify.annotations.NullMarked;
