/** The parameter servers, which average gradients over replicas and processes. */
@NullMarked
package dev.banyan.djl.internal.server;

import org.jspecify.annotations.NullMarked;
