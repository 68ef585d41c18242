/** Parts of datasets, one for each process or replica. */
@NullMarked
package dev.banyan.djl.internal.data;

import org.jspecify.annotations.NullMarked;
