/** What NCCL's rings are predicted to take, to compare with. */
@NullMarked
package dev.banyan.simulate.internal.nccl;

import org.jspecify.annotations.NullMarked;
