@NullMarked
package dev.banyan.config.internal.json;

import org.jspecify.annotations.NullMarked;
