/** Gradients of models, and predicted times of their exchange. */
@NullMarked
package dev.banyan.study.workload;

import org.jspecify.annotations.NullMarked;
