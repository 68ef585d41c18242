/** Sweeps as nccl-tests print them: prefixes, headers, columns, footers. */
@NullMarked
package dev.banyan.study.measured.sweep;

import org.jspecify.annotations.NullMarked;
