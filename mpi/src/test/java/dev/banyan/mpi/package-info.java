@NullMarked
package dev.banyan.mpi;

import org.jspecify.annotations.NullMarked;
