/** DJL's engine, with models, trainers and evaluators that know of several processes. */
@NullMarked
package dev.banyan.djl.internal.engine;

import org.jspecify.annotations.NullMarked;
